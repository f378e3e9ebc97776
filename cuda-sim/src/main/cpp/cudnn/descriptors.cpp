#include "descriptors.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "sdpa.h"

namespace cudnn {
namespace {

enum Need { REQUIRED, OPTIONAL, READ_ONLY };

struct Rule {
    int attribute;
    Type type;
    int64_t most;      // elements
    Need need;
    int kind = 0;      // of a descriptor: the kind that it must have, or 0
};

constexpr int64_t MOST_DIMS = 8;
constexpr int64_t MANY = 64;

// Sources: cuDNN's API reference, "cudnnBackendDescriptorType_t" (attributes of each type, and which are required);
// for SDPA, UnifiedSDPANode of cudnn-frontend, node/scaled_dot_product_flash_attention.h.
const std::map<int, std::vector<Rule>> RULES = {
    {TENSOR, {{ALIGNMENT, INT64, 1, REQUIRED}, {ELEMENT_TYPE, DATA_TYPE, 1, REQUIRED},
        {EXTENTS, INT64, MOST_DIMS, REQUIRED}, {STRIDES, INT64, MOST_DIMS, REQUIRED}, {UNIQUE_ID, INT64, 1, REQUIRED},
        {IS_VIRTUAL, BOOLEAN, 1, OPTIONAL}, {IS_BY_VALUE, BOOLEAN, 1, OPTIONAL}}},
    {FORWARD, {{FORWARD_Q, DESCRIPTOR, 1, REQUIRED, TENSOR}, {FORWARD_K, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {FORWARD_V, DESCRIPTOR, 1, REQUIRED, TENSOR}, {FORWARD_O, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {FORWARD_STATS, DESCRIPTOR, 1, REQUIRED, TENSOR}, {FORWARD_SCALE, DESCRIPTOR, 1, REQUIRED, TENSOR}}},
    {BACKWARD, {{BACKWARD_Q, DESCRIPTOR, 1, REQUIRED, TENSOR}, {BACKWARD_K, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {BACKWARD_V, DESCRIPTOR, 1, REQUIRED, TENSOR}, {BACKWARD_O, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {BACKWARD_STATS, DESCRIPTOR, 1, REQUIRED, TENSOR}, {BACKWARD_SCALE, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {BACKWARD_DQ, DESCRIPTOR, 1, REQUIRED, TENSOR}, {BACKWARD_DK, DESCRIPTOR, 1, REQUIRED, TENSOR},
        {BACKWARD_DV, DESCRIPTOR, 1, REQUIRED, TENSOR}, {BACKWARD_DO, DESCRIPTOR, 1, REQUIRED, TENSOR}}},
    {GRAPH, {{GRAPH_HANDLE, HANDLE, 1, REQUIRED}, {GRAPH_OPERATIONS, DESCRIPTOR, 1, REQUIRED}}},
    {HEURISTIC, {{HEUR_GRAPH, DESCRIPTOR, 1, REQUIRED, GRAPH}, {HEUR_MODE_USED, HEUR_MODE, 1, REQUIRED},
        {HEUR_RESULTS, DESCRIPTOR, MANY, READ_ONLY, ENGINE_CONFIG}}},
    {ENGINE_CONFIG, {{CONFIG_ENGINE, DESCRIPTOR, 1, REQUIRED, ENGINE}}},
    {ENGINE, {{ENGINE_NOTES, NUMERICAL_NOTE, MANY, READ_ONLY}}},
    {PLAN, {{PLAN_HANDLE, HANDLE, 1, REQUIRED}, {PLAN_CONFIG, DESCRIPTOR, 1, REQUIRED, ENGINE_CONFIG},
        {PLAN_WORKSPACE, INT64, 1, READ_ONLY}}},
    {PACK, {{PACK_IDS, INT64, MANY, REQUIRED}, {PACK_POINTERS, VOID_PTR, MANY, REQUIRED},
        {PACK_WORKSPACE, VOID_PTR, 1, REQUIRED}}}};

std::mutex mutex;
std::map<const void*, std::shared_ptr<Descriptor>> live;

const Rule* ruleOf(const Descriptor& descriptor, int attribute) {
    for (const Rule& rule : RULES.at(descriptor.kind)) {
        if (rule.attribute == attribute) {
            return &rule;
        }
    }
    return nullptr;
}

size_t bytesOfElement(Type type) {
    return type == BOOLEAN ? 1 : type == DATA_TYPE || type == HEUR_MODE || type == NUMERICAL_NOTE ? 4 : 8;
}

std::string nameOf(const char* call, const Descriptor& descriptor, int attribute) {
    return format("%s: attribute %d of a descriptor of type %d", call, attribute, descriptor.kind);
}

Status descriptors(const std::string& name, const Rule& rule, Value& value) {
    for (int64_t pointer : value.numbers) {
        std::shared_ptr<Descriptor> other = find(reinterpret_cast<const void*>(pointer));
        if (other == nullptr) {
            return refuse(BAD_PARAM, name + " refers to no descriptor");
        }
        if (!other->complete) {
            return refuse(NOT_FINALIZED, name + " refers to a descriptor that is not finalized");
        }
        bool operation = other->kind == FORWARD || other->kind == BACKWARD;
        if (rule.kind != 0 ? other->kind != rule.kind : !operation) {
            return refuse(DESCRIPTOR_TYPE, format("%s refers to a descriptor of type %d", name.c_str(), other->kind));
        }
        value.descriptors.push_back(other);
    }
    return SUCCESS;
}

Status checkValue(const std::string& name, const Rule& rule, const Value& value) {
    if (rule.type == DATA_TYPE && cudnn::bytesOf(static_cast<int>(value.numbers[0])) == 0) {
        return refuse(NOT_SUPPORTED_DATA_TYPE, name + format(" is data type %d", static_cast<int>(value.numbers[0])));
    }
    if (rule.type == HEUR_MODE && value.numbers[0] != MODE_A && value.numbers[0] != FALLBACK) {
        return refuse(NOT_SUPPORTED, name + ": heuristics A and FALLBACK are simulated");
    }
    if (rule.type == HANDLE && value.numbers[0] == 0) {
        return refuse(NULL_POINTER, name + " is null");
    }
    return SUCCESS;
}

Status checkPack(const Descriptor& pack) {
    const std::vector<int64_t>& ids = pack.numbers(PACK_IDS);
    if (ids.size() != pack.numbers(PACK_POINTERS).size()) {
        return refuse(BAD_PARAM, format("a variant pack has %zu ids and %zu pointers", ids.size(),
            pack.numbers(PACK_POINTERS).size()));
    }
    if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) {
        return refuse(DUPLICATED_ENTRIES, "a variant pack has an id twice");
    }
    return SUCCESS;
}

Status checkGraph(const Descriptor& graph) {
    const char* wrong = getenv("ISOBAR_SIM_CUDNN_WRONG");
    bool backward = graph.descriptor(GRAPH_OPERATIONS)->kind == BACKWARD;
    return wrong != nullptr && (strcmp(wrong, "graph") == 0 || (backward && strcmp(wrong, "backward") == 0))
        ? refuse(BAD_PARAM, "cudnnBackendFinalize: the graph is refused on purpose") : SUCCESS;
}

Status checkComplete(const Descriptor& descriptor) {
    for (const Rule& rule : RULES.at(descriptor.kind)) {
        if (rule.need == REQUIRED && !descriptor.has(rule.attribute)) {
            return refuse(BAD_PARAM, nameOf("cudnnBackendFinalize", descriptor, rule.attribute) + " is not set");
        }
    }
    switch (descriptor.kind) {
        case TENSOR: return checkTensor(descriptor);
        case FORWARD:
        case BACKWARD: return checkOperation(descriptor);
        case PACK: return checkPack(descriptor);
        case GRAPH: return checkGraph(descriptor);
        default: return SUCCESS;
    }
}

const Descriptor& operationOf(const Descriptor& graph) {
    return *graph.descriptor(GRAPH_OPERATIONS);
}

// The numbers of the engines that a heuristic proposes. Engine 1 is deterministic; engine 0, of the backward pass
// alone, is not, and is proposed first. The fallback proposes the deterministic one.
std::vector<int> proposed(const Descriptor& heuristic) {
    bool backward = operationOf(*heuristic.descriptor(HEUR_GRAPH)).kind == BACKWARD;
    return heuristic.number(HEUR_MODE_USED) == MODE_A && backward ? std::vector<int>{0, 1} : std::vector<int>{1};
}

// Fills descriptors that the caller has created.
int fill(const std::string& name, const Rule& rule, const Descriptor& from, int64_t requested, int64_t* count,
    void* array) {
    std::vector<int> engines = from.kind == HEURISTIC ? proposed(from) : std::vector<int>{from.engine};
    auto found = static_cast<int64_t>(engines.size());
    if (requested == 0) {
        *count = found;
        return SUCCESS;
    }
    if (array == nullptr) {
        return refuse(NULL_POINTER, name + ": no room");
    }
    *count = requested < found ? requested : found;
    for (int64_t i = 0; i < *count; ++i) {
        std::shared_ptr<Descriptor> target = find(static_cast<void* const*>(array)[i]);
        if (target == nullptr || target->kind != rule.kind || target->complete) {
            return refuse(DESCRIPTOR_TYPE, name + ": is read into empty descriptors of its type");
        }
        target->engine = engines[static_cast<size_t>(i)];
        target->complete = true;
        if (from.kind == HEURISTIC) {
            target->values[HEUR_GRAPH] = from.values.at(HEUR_GRAPH); // which the plan computes
        }
    }
    return SUCCESS;
}

int notes(const Descriptor& engine, int64_t requested, int64_t* count, void* array) {
    std::vector<int32_t> found = engine.engine == 0 ? std::vector<int32_t>{TENSOR_CORE, NONDETERMINISTIC}
        : std::vector<int32_t>{TENSOR_CORE};
    *count = static_cast<int64_t>(found.size());
    if (array != nullptr) {
        memcpy(array, found.data(), std::min(found.size(), static_cast<size_t>(requested)) * sizeof(int32_t));
    }
    return SUCCESS;
}

}  // namespace

std::shared_ptr<Descriptor> find(const void* pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = live.find(pointer);
    return found == live.end() ? nullptr : found->second;
}

}  // namespace cudnn

using namespace cudnn;

CUDNN_API int cudnnBackendCreateDescriptor(int kind, void** made) {
    if (made == nullptr) {
        return refuse(NULL_POINTER, "cudnnBackendCreateDescriptor: no room");
    }
    if (RULES.count(kind) == 0) {
        return refuse(NOT_SUPPORTED, format("cudnnBackendCreateDescriptor: type %d is not simulated", kind));
    }
    auto descriptor = std::make_shared<Descriptor>();
    descriptor->kind = static_cast<Kind>(kind);
    std::lock_guard<std::mutex> lock(mutex);
    live[descriptor.get()] = descriptor;
    *made = descriptor.get();
    return SUCCESS;
}

CUDNN_API int cudnnBackendDestroyDescriptor(void* pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    return live.erase(pointer) == 1 ? SUCCESS
        : refuse(BAD_PARAM, "cudnnBackendDestroyDescriptor: no such descriptor, or destroyed twice");
}

CUDNN_API int cudnnBackendSetAttribute(void* pointer, int attribute, int type, int64_t count, const void* array) {
    std::shared_ptr<Descriptor> descriptor = find(pointer);
    if (descriptor == nullptr || array == nullptr) {
        return refuse(NULL_POINTER, "cudnnBackendSetAttribute: no descriptor or no values");
    }
    std::string name = nameOf("cudnnBackendSetAttribute", *descriptor, attribute);
    if (descriptor->complete) {
        return refuse(NOT_INITIALIZED, name + ": the descriptor is finalized already");
    }
    const Rule* rule = ruleOf(*descriptor, attribute);
    if (rule == nullptr || rule->need == READ_ONLY) {
        return refuse(BAD_PARAM, name + " cannot be set");
    }
    if (type != rule->type) {
        return refuse(ATTRIBUTE_TYPE, format("%s is of type %d, not %d", name.c_str(), rule->type, type));
    }
    if (count < 1 || count > rule->most) {
        return refuse(BAD_PARAM, format("%s has %ld elements", name.c_str(), static_cast<long>(count)));
    }
    Value value;
    size_t bytes = bytesOfElement(rule->type);
    for (int64_t i = 0; i < count; ++i) {
        int64_t number = 0;
        memcpy(&number, static_cast<const char*>(array) + static_cast<size_t>(i) * bytes, bytes);
        value.numbers.push_back(number);
    }
    Status status = rule->type == DESCRIPTOR ? descriptors(name, *rule, value) : checkValue(name, *rule, value);
    if (status == SUCCESS) {
        descriptor->values[attribute] = value;
    }
    return status;
}

CUDNN_API int cudnnBackendFinalize(void* pointer) {
    std::shared_ptr<Descriptor> descriptor = find(pointer);
    if (descriptor == nullptr) {
        return refuse(NULL_POINTER, "cudnnBackendFinalize: no descriptor");
    }
    if (descriptor->complete) {
        return refuse(BAD_PARAM, format("cudnnBackendFinalize: a descriptor of type %d is finalized already",
            descriptor->kind));
    }
    Status status = checkComplete(*descriptor);
    descriptor->complete = status == SUCCESS;
    return status;
}

CUDNN_API int cudnnBackendGetAttribute(void* pointer, int attribute, int type, int64_t requested, int64_t* count,
    void* array) {
    std::shared_ptr<Descriptor> descriptor = find(pointer);
    if (descriptor == nullptr || count == nullptr) {
        return refuse(NULL_POINTER, "cudnnBackendGetAttribute: no descriptor or no count");
    }
    std::string name = nameOf("cudnnBackendGetAttribute", *descriptor, attribute);
    if (!descriptor->complete) {
        return refuse(NOT_FINALIZED, name + ": the descriptor is not finalized");
    }
    const Rule* rule = ruleOf(*descriptor, attribute);
    if (rule == nullptr) {
        return refuse(BAD_PARAM, name + " cannot be read");
    }
    if (type != rule->type) {
        return refuse(ATTRIBUTE_TYPE, format("%s is of type %d, not %d", name.c_str(), rule->type, type));
    }
    switch (attribute) {
        case HEUR_RESULTS:
        case CONFIG_ENGINE: return fill(name, *rule, *descriptor, requested, count, array);
        case ENGINE_NOTES: return notes(*descriptor, requested, count, array);
        case PLAN_WORKSPACE: {
            const Descriptor& config = *descriptor->descriptor(PLAN_CONFIG);
            int64_t bytes = workspaceOf(sdpaOf(operationOf(*config.descriptor(HEUR_GRAPH))), config.engine);
            memcpy(array, &bytes, sizeof bytes);
            *count = 1;
            return SUCCESS;
        }
        default: return refuse(NOT_SUPPORTED, name + " is not simulated");
    }
}
