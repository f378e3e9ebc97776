// The library itself: its version, its handles, and the execution of plans, which wait on their stream like kernels.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "descriptors.h"
#include "sdpa.h"
#include "sim.h"

using namespace cudnn;

namespace {

constexpr size_t VERSION = 91900;
constexpr uintptr_t WORKSPACE_ALIGNMENT = 16;

void run(void* context) {
    compute(*static_cast<Sdpa*>(context));
}

void release(void* context) {
    delete static_cast<Sdpa*>(context);
}

// The tensors' memory of the variant pack, which names exactly the tensors of the operation.
Status place(Sdpa& sdpa, const Descriptor& pack) {
    const std::vector<int64_t>& ids = pack.numbers(PACK_IDS);
    if (ids.size() != static_cast<size_t>(sdpa.roles())) {
        return refuse(BAD_PARAM, format("%s: the variant pack has %zu tensors, not %d", nameOf(sdpa).c_str(),
            ids.size(), sdpa.roles()));
    }
    for (size_t i = 0; i < ids.size(); ++i) {
        Strided* named = nullptr;
        for (int role = 0; role < sdpa.roles(); ++role) {
            if (sdpa.tensors[role].id == ids[i]) {
                named = &sdpa.tensors[role];
            }
        }
        if (named == nullptr) {
            return refuse(BAD_PARAM, format("%s: the variant pack has the id %ld, which is no tensor's",
                nameOf(sdpa).c_str(), static_cast<long>(ids[i])));
        }
        named->data = reinterpret_cast<char*>(pack.numbers(PACK_POINTERS)[i]);
    }
    return SUCCESS;
}

Status checkWorkspace(const Sdpa& sdpa, void* workspace, int64_t bytes) {
    if (bytes != 0 && (workspace == nullptr || reinterpret_cast<uintptr_t>(workspace) % WORKSPACE_ALIGNMENT != 0)) {
        return refuse(MISALIGNED_POINTER, format("%s: the workspace at %p is not aligned to 16 bytes",
            nameOf(sdpa).c_str(), workspace));
    }
    if (bytes != 0 && sim_is_device_memory(workspace, static_cast<size_t>(bytes)) == 0) {
        return refuse(OUT_OF_BOUND, format("%s: the plan needs %ld bytes of workspace, which are not at %p",
            nameOf(sdpa).c_str(), static_cast<long>(bytes), workspace));
    }
    return SUCCESS;
}

int enqueue(const Sdpa& sdpa, void* workspace, int64_t bytes, void* stream) {
    std::vector<SimRange> reads;
    std::vector<SimRange> writes;
    for (int role = 0; role < sdpa.roles(); ++role) {
        if (role != SCALE) {
            std::vector<SimRange>& list = sdpa.writes(role) ? writes : reads;
            std::vector<SimRange> more = ranges(sdpa.tensors[role]);
            list.insert(list.end(), more.begin(), more.end());
        }
    }
    if (bytes != 0) {
        writes.push_back({workspace, static_cast<size_t>(bytes), 1, 0});
    }
    int error = sim_enqueue(stream, nameOf(sdpa).c_str(), run, release, new Sdpa(sdpa), reads.data(),
        static_cast<int>(reads.size()), writes.data(), static_cast<int>(writes.size()));
    return error == 0 ? SUCCESS : EXECUTION_FAILED;
}

}  // namespace

CUDNN_API size_t cudnnGetVersion() {
    const char* other = getenv("ISOBAR_SIM_CUDNN_VERSION");
    return other == nullptr ? VERSION : static_cast<size_t>(atol(other));
}

CUDNN_API int cudnnCreate(Handle** handle) {
    *handle = new Handle();
    return SUCCESS;
}

CUDNN_API int cudnnDestroy(Handle* handle) {
    delete handle;
    return SUCCESS;
}

CUDNN_API int cudnnSetStream(Handle* handle, void* stream) {
    handle->stream = stream;
    return SUCCESS;
}

CUDNN_API int cudnnBackendExecute(Handle* handle, void* planPointer, void* packPointer) {
    std::shared_ptr<Descriptor> plan = find(planPointer);
    std::shared_ptr<Descriptor> pack = find(packPointer);
    if (handle == nullptr || plan == nullptr || pack == nullptr || plan->kind != PLAN || pack->kind != PACK) {
        return refuse(BAD_PARAM, "cudnnBackendExecute: no handle, plan or variant pack");
    }
    if (!plan->complete || !pack->complete) {
        return refuse(NOT_FINALIZED, "cudnnBackendExecute: the plan or the variant pack is not finalized");
    }
    const char* wrong = getenv("ISOBAR_SIM_CUDNN_WRONG");
    if (wrong != nullptr && strcmp(wrong, "refuse") == 0) {
        return refuse(EXECUTION_FAILED, "cudnnBackendExecute: refused on purpose");
    }
    const Descriptor& config = *plan->descriptor(PLAN_CONFIG);
    Sdpa sdpa = sdpaOf(*config.descriptor(HEUR_GRAPH)->descriptor(GRAPH_OPERATIONS));
    sdpa.unequal = config.engine == 0;
    int64_t bytes = workspaceOf(sdpa, config.engine);
    auto* workspace = reinterpret_cast<void*>(pack->number(PACK_WORKSPACE));
    Status status = place(sdpa, *pack);
    if (status == SUCCESS) {
        status = checkMemory(sdpa);
    }
    if (status == SUCCESS) {
        status = checkWorkspace(sdpa, workspace, bytes);
    }
    if (status != SUCCESS) {
        return status;
    }
    memcpy(&sdpa.scale, sdpa.tensors[SCALE].data, sizeof sdpa.scale);
    return enqueue(sdpa, workspace, bytes, handle->stream);
}
