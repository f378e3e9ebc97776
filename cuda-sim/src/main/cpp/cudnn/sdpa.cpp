#include "sdpa.h"

#include <algorithm>
#include <set>

namespace cudnn {
namespace {

constexpr int64_t ALIGNMENT_OF_ENGINES = 16;
constexpr int64_t MOST_CHANNELS = 128;
constexpr int64_t CHANNELS_MULTIPLE = 8;
constexpr int64_t WORKSPACE_PER_ROW = 8;

const char* const NAMES[] = {"Q", "K", "V", "O", "STATS", "SCALE", "DO", "DQ", "DK", "DV"};

const int FORWARD_ATTRIBUTES[] = {FORWARD_Q, FORWARD_K, FORWARD_V, FORWARD_O, FORWARD_STATS, FORWARD_SCALE};
const int BACKWARD_ATTRIBUTES[] = {BACKWARD_Q, BACKWARD_K, BACKWARD_V, BACKWARD_O, BACKWARD_STATS, BACKWARD_SCALE,
    BACKWARD_DO, BACKWARD_DQ, BACKWARD_DK, BACKWARD_DV};

Strided strided(const Descriptor& tensor) {
    Strided made;
    made.type = static_cast<int>(tensor.number(ELEMENT_TYPE));
    made.id = tensor.number(UNIQUE_ID);
    made.alignment = tensor.number(ALIGNMENT);
    std::copy_n(tensor.numbers(EXTENTS).begin(), 4, made.extents);
    std::copy_n(tensor.numbers(STRIDES).begin(), 4, made.strides);
    return made;
}

bool ofQueries(int role) {
    return role == Q || role == O || role == DO || role == DQ;
}

std::string text(const int64_t (&extents)[4]) {
    return format("%ld x %ld x %ld x %ld", static_cast<long>(extents[0]), static_cast<long>(extents[1]),
        static_cast<long>(extents[2]), static_cast<long>(extents[3]));
}

Status checkShapes(const Sdpa& sdpa) {
    const int64_t (&q)[4] = sdpa.tensors[Q].extents;
    const int64_t (&k)[4] = sdpa.tensors[K].extents;
    const int64_t keys[4] = {q[0], q[1], k[2], q[3]};
    const int64_t statistics[4] = {q[0], q[1], q[2], 1};
    const int64_t number[4] = {1, 1, 1, 1};
    for (int role = 0; role < sdpa.roles(); ++role) {
        const int64_t (&needed)[4] = ofQueries(role) ? q : role == STATS ? statistics : role == SCALE ? number : keys;
        const Strided& tensor = sdpa.tensors[role];
        if (!std::equal(needed, needed + 4, tensor.extents)) {
            return refuse(SHAPE_MISMATCH, format("%s: %s is %s, not %s", nameOf(sdpa).c_str(), NAMES[role],
                text(tensor.extents).c_str(), text(needed).c_str()));
        }
        int type = role == STATS || role == SCALE ? static_cast<int>(F32) : sdpa.tensors[Q].type;
        if (tensor.type != type) {
            return refuse(NOT_SUPPORTED_DATA_TYPE, format("%s: %s is of data type %d, not %d", nameOf(sdpa).c_str(),
                NAMES[role], tensor.type, type));
        }
        if (tensor.strides[3] != 1) {
            return refuse(NOT_SUPPORTED_LAYOUT, format("%s: the channels of %s are %ld elements apart",
                nameOf(sdpa).c_str(), NAMES[role], static_cast<long>(tensor.strides[3])));
        }
    }
    return SUCCESS;
}

Status checkSupport(const Sdpa& sdpa) {
    int type = sdpa.tensors[Q].type;
    if (type != F16 && type != BF16) {
        return refuse(NOT_SUPPORTED_DATA_TYPE, nameOf(sdpa) + ": only in fp16 and bf16");
    }
    int64_t channels = sdpa.tensors[Q].extents[3];
    if (channels % CHANNELS_MULTIPLE != 0 || channels > MOST_CHANNELS) {
        return refuse(NOT_SUPPORTED_SHAPE, nameOf(sdpa) + ": the channels of a head are a multiple of 8 up to 128");
    }
    for (int role = 0; role < sdpa.roles(); ++role) {
        bool vectors = role != STATS && role != SCALE;
        if (vectors && sdpa.tensors[role].alignment % ALIGNMENT_OF_ENGINES != 0) {
            return refuse(NOT_SUPPORTED_LAYOUT, format("%s: %s is aligned to %ld bytes, below 16",
                nameOf(sdpa).c_str(), NAMES[role], static_cast<long>(sdpa.tensors[role].alignment)));
        }
    }
    return SUCCESS;
}

struct Piece {
    uintptr_t start;
    uintptr_t end;
    int role;
    bool written;
};

// The starts and ends of all rows, in order; the scale is the host's.
std::vector<Piece> pieces(const Sdpa& sdpa) {
    std::vector<Piece> found;
    for (int role = 0; role < sdpa.roles(); ++role) {
        if (role == SCALE) {
            continue;
        }
        for (const SimRange& range : ranges(sdpa.tensors[role])) {
            for (size_t row = 0; row < range.rows; ++row) {
                uintptr_t start = reinterpret_cast<uintptr_t>(range.address) + row * range.pitch;
                found.push_back({start, start + range.bytes, role, sdpa.writes(role)});
            }
        }
    }
    std::sort(found.begin(), found.end(), [](const Piece& a, const Piece& b) { return a.start < b.start; });
    return found;
}

}  // namespace

size_t bytesOf(int type) {
    return type == F32 ? 4 : type == F16 || type == BF16 ? 2 : 0;
}

const char* nameOf(Role role) {
    return NAMES[role];
}

std::string nameOf(const Sdpa& sdpa) {
    const int64_t (&q)[4] = sdpa.tensors[Q].extents;
    int type = sdpa.tensors[Q].type;
    return format("cudnn attention %s %ld x %ld x %ld x %ld x %ld %s", sdpa.backward ? "backward" : "forward",
        static_cast<long>(q[0]), static_cast<long>(q[1]), static_cast<long>(q[2]),
        static_cast<long>(sdpa.tensors[K].extents[2]), static_cast<long>(q[3]),
        type == F16 ? "fp16" : type == BF16 ? "bf16" : "of another type");
}

Status checkTensor(const Descriptor& tensor) {
    const std::vector<int64_t>& extents = tensor.numbers(EXTENTS);
    const std::vector<int64_t>& strides = tensor.numbers(STRIDES);
    if (extents.size() != strides.size()) {
        return refuse(BAD_PARAM, format("a tensor has %zu extents and %zu strides", extents.size(), strides.size()));
    }
    auto positive = [](int64_t number) { return number > 0; };
    if (!std::all_of(extents.begin(), extents.end(), positive)
        || !std::all_of(strides.begin(), strides.end(), positive)) {
        return refuse(BAD_PARAM, "a tensor has an extent or a stride that is not positive");
    }
    // In the order of strides, each dimension begins behind all that is inside it.
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
    int64_t inside = 1;
    for (size_t dim : order) {
        if (extents[dim] > 1 && strides[dim] < inside) {
            return refuse(BAD_PARAM, format("a tensor overlaps itself: dimension %zu has a stride of %ld, below %ld",
                dim, static_cast<long>(strides[dim]), static_cast<long>(inside)));
        }
        inside = std::max(inside, (extents[dim] - 1) * strides[dim] + inside);
    }
    int64_t alignment = tensor.number(ALIGNMENT);
    if (alignment <= 0 || (alignment & (alignment - 1)) != 0
        || alignment % static_cast<int64_t>(bytesOf(static_cast<int>(tensor.number(ELEMENT_TYPE)))) != 0) {
        return refuse(BAD_PARAM, format("a tensor is aligned to %ld bytes", static_cast<long>(alignment)));
    }
    return SUCCESS;
}

Status checkOperation(const Descriptor& operation) {
    bool backward = operation.kind == BACKWARD;
    const int* attributes = backward ? BACKWARD_ATTRIBUTES : FORWARD_ATTRIBUTES;
    std::set<int64_t> ids;
    for (int role = 0; role < (backward ? ROLES : DO); ++role) {
        const Descriptor& tensor = *operation.descriptor(attributes[role]);
        if (tensor.numbers(EXTENTS).size() != 4) {
            return refuse(BAD_PARAM, format("%s has %zu dimensions, not 4", NAMES[role],
                tensor.numbers(EXTENTS).size()));
        }
        if (!ids.insert(tensor.number(UNIQUE_ID)).second) {
            return refuse(DUPLICATED_ENTRIES, format("the id %ld of %s is another tensor's, too",
                static_cast<long>(tensor.number(UNIQUE_ID)), NAMES[role]));
        }
        bool byValue = tensor.has(IS_BY_VALUE) && tensor.number(IS_BY_VALUE) != 0;
        if (byValue != (role == SCALE)) {
            return refuse(BAD_PARAM, format("%s is %spassed by value", NAMES[role], byValue ? "" : "not "));
        }
    }
    Sdpa sdpa = sdpaOf(operation);
    Status status = checkShapes(sdpa);
    return status != SUCCESS ? status : checkSupport(sdpa);
}

Sdpa sdpaOf(const Descriptor& operation) {
    Sdpa sdpa;
    sdpa.backward = operation.kind == BACKWARD;
    const int* attributes = sdpa.backward ? BACKWARD_ATTRIBUTES : FORWARD_ATTRIBUTES;
    for (int role = 0; role < sdpa.roles(); ++role) {
        sdpa.tensors[role] = strided(*operation.descriptor(attributes[role]));
    }
    return sdpa;
}

Status checkMemory(const Sdpa& sdpa) {
    for (int role = 0; role < sdpa.roles(); ++role) {
        const Strided& tensor = sdpa.tensors[role];
        if (tensor.data == nullptr) {
            return refuse(NULL_POINTER, nameOf(sdpa) + ": no memory of " + NAMES[role]);
        }
        bool onDevice = sim_is_device_memory(tensor.data, 1) != 0;
        if (onDevice == (role == SCALE)) {
            return refuse(BAD_PARAM, nameOf(sdpa) + ": " + NAMES[role] + (onDevice ? " is passed by value and in "
                "device memory" : " is not in device memory"));
        }
        auto alignment = role == SCALE ? alignof(float) : static_cast<uintptr_t>(tensor.alignment);
        if (reinterpret_cast<uintptr_t>(tensor.data) % alignment != 0) {
            return refuse(MISALIGNED_POINTER, format("%s: %s at %p is not aligned to %zu bytes", nameOf(sdpa).c_str(),
                NAMES[role], static_cast<void*>(tensor.data), static_cast<size_t>(alignment)));
        }
    }
    std::vector<Piece> all = pieces(sdpa);
    for (size_t i = 1; i < all.size(); ++i) {
        if (all[i].start < all[i - 1].end && (all[i].written || all[i - 1].written)) {
            return refuse(BAD_PARAM, nameOf(sdpa) + ": " + NAMES[all[i - 1].role] + " and " + NAMES[all[i].role]
                + " overlap");
        }
    }
    return SUCCESS;
}

std::vector<SimRange> ranges(const Strided& tensor) {
    std::vector<SimRange> found;
    size_t bytes = bytesOf(tensor.type);
    for (int64_t b = 0; b < tensor.extents[0]; ++b) {
        for (int64_t h = 0; h < tensor.extents[1]; ++h) {
            auto offset = static_cast<size_t>(b * tensor.strides[0] + h * tensor.strides[1]);
            found.push_back({tensor.data + offset * bytes, static_cast<size_t>(tensor.extents[3]) * bytes,
                static_cast<size_t>(tensor.extents[2]), static_cast<size_t>(tensor.strides[2]) * bytes});
        }
    }
    return found;
}

int64_t workspaceOf(const Sdpa& sdpa, int engine) {
    const int64_t (&q)[4] = sdpa.tensors[Q].extents;
    int64_t rows = q[0] * q[1] * q[2];
    return sdpa.backward ? (engine + 1) * (rows * WORKSPACE_PER_ROW + rows * q[3] * 4) : 0;
}

}  // namespace cudnn
