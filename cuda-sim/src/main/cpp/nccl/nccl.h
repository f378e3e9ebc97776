// Codes, types and operators of NCCL's interface, as in its public header (2.28).
#pragma once

#include <cstddef>
#include <cstdint>

#define NCCL_API extern "C" __attribute__((visibility("default")))

namespace nccl {

// ncclResult_t
enum Status {
    SUCCESS = 0,
    UNHANDLED_CUDA_ERROR = 1,
    SYSTEM_ERROR = 2,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    REMOTE_ERROR = 6
};

// ncclDataType_t
enum Type {
    INT8 = 0,
    UINT8 = 1,
    INT32 = 2,
    UINT32 = 3,
    INT64 = 4,
    UINT64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
    BF16 = 9
};

// ncclRedOp_t; PREMUL_SUM and larger values are operators that a communicator has created.
enum Operator {
    SUM = 0,
    PROD = 1,
    MAX = 2,
    MIN = 3,
    AVG = 4,
    PREMUL_SUM = 5
};

// ncclScalarResidence_t
enum Residence {
    ON_DEVICE = 0,
    ON_HOST = 1
};

constexpr size_t ID_BYTES = 128;

// ncclUniqueId
struct UniqueId {
    char bytes[ID_BYTES];
};

// Bytes of one number; 0 for a type that is not simulated.
constexpr size_t bytesOf(int type) {
    constexpr size_t BYTES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type < INT8 || type > BF16 ? 0 : BYTES[type];
}

const char* nameOf(int type);
const char* operatorName(int op);

}  // namespace nccl
