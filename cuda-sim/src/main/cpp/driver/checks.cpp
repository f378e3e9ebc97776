// Callbacks that the compiler inserts into kernels: before each load and store (-fsanitize=thread), and for misaligned
// addresses, indices outside of arrays and undefined integer divisions (-fsanitize=...). They replace the compiler's
// own runtime library.
#include "access.h"
#include "api.h"
#include "block.h"

using namespace sim;

namespace {

struct SourceLocation {
    const char* file;
    uint32_t line;
    uint32_t column;
};

struct TypeDescription {
    uint16_t kind;
    uint16_t info;
    char name[1];
};

struct TypeMismatch {
    SourceLocation location;
    TypeDescription* type;
    unsigned char logAlignment;
    unsigned char kind;
};

struct OutOfBounds {
    SourceLocation location;
    TypeDescription* array;
    TypeDescription* index;
};

[[noreturn]] void fail(Code code, const SourceLocation& location, const std::string& what) {
    failThread(code, what, {location.file, static_cast<int>(location.line)});
}

}  // namespace

SIM_API void __tsan_init() { }
SIM_API void __tsan_func_entry(void*) { }
SIM_API void __tsan_func_exit() { }

#define SIM_CALLBACKS(bytes) \
    SIM_API void __tsan_read##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::READ, __builtin_return_address(0)); \
    } \
    SIM_API void __tsan_write##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::WRITE, __builtin_return_address(0)); \
    } \
    SIM_API void __tsan_unaligned_read##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::READ, __builtin_return_address(0)); \
    } \
    SIM_API void __tsan_unaligned_write##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::WRITE, __builtin_return_address(0)); \
    } \
    SIM_API void __tsan_volatile_read##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::READ, __builtin_return_address(0)); \
    } \
    SIM_API void __tsan_volatile_write##bytes(void* a) { \
        noteAccess(reinterpret_cast<Address>(a), bytes, Direction::WRITE, __builtin_return_address(0)); \
    }

SIM_CALLBACKS(1)
SIM_CALLBACKS(2)
SIM_CALLBACKS(4)
SIM_CALLBACKS(8)
SIM_CALLBACKS(16)

SIM_API void __tsan_read_range(void* a, size_t bytes) {
    noteAccess(reinterpret_cast<Address>(a), bytes, Direction::READ, __builtin_return_address(0));
}

SIM_API void __tsan_write_range(void* a, size_t bytes) {
    noteAccess(reinterpret_cast<Address>(a), bytes, Direction::WRITE, __builtin_return_address(0));
}

SIM_API void __ubsan_handle_type_mismatch_v1(TypeMismatch* data, uintptr_t a) {
    fail(MISALIGNED_ADDRESS, data->location, format("misaligned access of type %s, which needs a multiple of %u bytes, "
        "at %s (address %#zx)", data->type->name, 1u << data->logAlignment, describe(a).c_str(), a));
}

SIM_API void __ubsan_handle_type_mismatch_v1_abort(TypeMismatch* data, uintptr_t a) {
    __ubsan_handle_type_mismatch_v1(data, a);
}

SIM_API void __ubsan_handle_out_of_bounds(OutOfBounds* data, uintptr_t index) {
    fail(ILLEGAL_ADDRESS, data->location, format("index %zd out of bounds of type %s", static_cast<ssize_t>(index),
        data->array->name));
}

SIM_API void __ubsan_handle_out_of_bounds_abort(OutOfBounds* data, uintptr_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}

SIM_API void __ubsan_handle_divrem_overflow(SourceLocation* data, uintptr_t, uintptr_t) {
    fail(LAUNCH_FAILED, *data, "an integer division by zero");
}

SIM_API void __ubsan_handle_divrem_overflow_abort(SourceLocation* data, uintptr_t, uintptr_t) {
    fail(LAUNCH_FAILED, *data, "an integer division by zero");
}
