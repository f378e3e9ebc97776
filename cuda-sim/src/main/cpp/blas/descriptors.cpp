// Descriptors: made, destroyed, and their attributes set and read. An attribute that the machine does not have is
// refused, so that no setting is silently without effect.
#include <cstring>

#include "lt.h"
#include "status.h"

using namespace blas;

namespace {

struct Field {
    int attribute;
    size_t offset;
    size_t bytes;
};

#define FIELD(number, type, member) {number, offsetof(type, member), sizeof(type::member)}

const Field MATMUL_FIELDS[] = {FIELD(0, MatmulDesc, compute), FIELD(1, MatmulDesc, scaleType),
    FIELD(2, MatmulDesc, pointerMode), FIELD(3, MatmulDesc, transA), FIELD(4, MatmulDesc, transB),
    FIELD(5, MatmulDesc, transC), FIELD(6, MatmulDesc, fillMode), FIELD(7, MatmulDesc, epilogue),
    FIELD(8, MatmulDesc, bias), FIELD(26, MatmulDesc, biasType)};

const Field LAYOUT_FIELDS[] = {FIELD(0, Layout, type), FIELD(1, Layout, order), FIELD(2, Layout, rows),
    FIELD(3, Layout, cols), FIELD(4, Layout, ld), FIELD(5, Layout, batches)};

const Field PREFERENCE_FIELDS[] = {FIELD(0, Preference, searchMode), FIELD(1, Preference, mostWorkspace),
    FIELD(3, Preference, reductionSchemes), FIELD(5, Preference, alignments[0]), FIELD(6, Preference, alignments[1]),
    FIELD(7, Preference, alignments[2]), FIELD(8, Preference, alignments[3])};

template <size_t COUNT>
const Field* find(const Field (&fields)[COUNT], int attribute) {
    for (const Field& field : fields) {
        if (field.attribute == attribute) {
            return &field;
        }
    }
    return nullptr;
}

template <size_t COUNT>
int set(const char* call, const Field (&fields)[COUNT], void* object, int attribute, const void* value, size_t bytes) {
    const Field* field = find(fields, attribute);
    if (field == nullptr) {
        return refuse(NOT_SUPPORTED, format("%s: attribute %d is not simulated", call, attribute));
    }
    if (object == nullptr || value == nullptr || bytes != field->bytes) {
        return refuse(INVALID_VALUE, format("%s: attribute %d has %zu bytes, not %zu", call, attribute, field->bytes,
            bytes));
    }
    memcpy(static_cast<char*>(object) + field->offset, value, bytes);
    return SUCCESS;
}

// A call with a size of 0 queries the size of the attribute.
template <size_t COUNT>
int get(const char* call, const Field (&fields)[COUNT], const void* object, int attribute, void* value, size_t bytes,
    size_t* written) {
    const Field* field = find(fields, attribute);
    if (field == nullptr) {
        return refuse(NOT_SUPPORTED, format("%s: attribute %d is not simulated", call, attribute));
    }
    if (written != nullptr) {
        *written = field->bytes;
    }
    if (bytes == 0 && written != nullptr) {
        return SUCCESS;
    }
    if (value == nullptr || bytes < field->bytes) {
        return refuse(INVALID_VALUE, format("%s: attribute %d has %zu bytes, not %zu", call, attribute, field->bytes,
            bytes));
    }
    memcpy(value, static_cast<const char*>(object) + field->offset, field->bytes);
    return SUCCESS;
}

// Creates a descriptor in memory that the caller provides.
template <typename Object>
int place(const char* call, void* room, size_t bytes, const Object& object) {
    if (room == nullptr || bytes < sizeof object) {
        return refuse(INVALID_VALUE, format("%s: %zu bytes are too few", call, bytes));
    }
    memset(room, 0, bytes);
    memcpy(room, &object, sizeof object);
    return SUCCESS;
}

MatmulDesc matmulDesc(int compute, int scaleType) {
    return {compute, scaleType, 0, OP_N, OP_N, OP_N, 0, PLAIN, nullptr, SAME_AS_RESULT};
}

Preference preference() {
    constexpr uint32_t USUAL_ALIGNMENT = 256;
    return {0, ANY_SCHEME, 0, {USUAL_ALIGNMENT, USUAL_ALIGNMENT, USUAL_ALIGNMENT, USUAL_ALIGNMENT}};
}

}  // namespace

BLAS_API int cublasLtMatmulDescCreate(MatmulDesc** desc, int compute, int scaleType) {
    *desc = new MatmulDesc(matmulDesc(compute, scaleType));
    return SUCCESS;
}

BLAS_API int cublasLtMatmulDescInit_internal(void* desc, size_t bytes, int compute, int scaleType) {
    return place("cublasLtMatmulDescInit", desc, bytes, matmulDesc(compute, scaleType));
}

BLAS_API int cublasLtMatmulDescDestroy(MatmulDesc* desc) {
    delete desc;
    return SUCCESS;
}

BLAS_API int cublasLtMatmulDescSetAttribute(MatmulDesc* desc, int attribute, const void* value, size_t bytes) {
    return set("cublasLtMatmulDescSetAttribute", MATMUL_FIELDS, desc, attribute, value, bytes);
}

BLAS_API int cublasLtMatmulDescGetAttribute(const MatmulDesc* desc, int attribute, void* value, size_t bytes,
    size_t* written) {
    return get("cublasLtMatmulDescGetAttribute", MATMUL_FIELDS, desc, attribute, value, bytes, written);
}

BLAS_API int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t cols, int64_t ld) {
    *layout = new Layout{type, COLUMNS, rows, cols, ld, 1};
    return SUCCESS;
}

BLAS_API int cublasLtMatrixLayoutInit_internal(void* layout, size_t bytes, int type, uint64_t rows, uint64_t cols,
    int64_t ld) {
    return place("cublasLtMatrixLayoutInit", layout, bytes, Layout{type, COLUMNS, rows, cols, ld, 1});
}

BLAS_API int cublasLtMatrixLayoutDestroy(Layout* layout) {
    delete layout;
    return SUCCESS;
}

BLAS_API int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t bytes) {
    return set("cublasLtMatrixLayoutSetAttribute", LAYOUT_FIELDS, layout, attribute, value, bytes);
}

BLAS_API int cublasLtMatrixLayoutGetAttribute(const Layout* layout, int attribute, void* value, size_t bytes,
    size_t* written) {
    return get("cublasLtMatrixLayoutGetAttribute", LAYOUT_FIELDS, layout, attribute, value, bytes, written);
}

BLAS_API int cublasLtMatmulPreferenceCreate(Preference** made) {
    *made = new Preference(preference());
    return SUCCESS;
}

BLAS_API int cublasLtMatmulPreferenceInit_internal(void* made, size_t bytes) {
    return place("cublasLtMatmulPreferenceInit", made, bytes, preference());
}

BLAS_API int cublasLtMatmulPreferenceDestroy(Preference* made) {
    delete made;
    return SUCCESS;
}

BLAS_API int cublasLtMatmulPreferenceSetAttribute(Preference* made, int attribute, const void* value, size_t bytes) {
    return set("cublasLtMatmulPreferenceSetAttribute", PREFERENCE_FIELDS, made, attribute, value, bytes);
}

BLAS_API int cublasLtMatmulPreferenceGetAttribute(const Preference* made, int attribute, void* value, size_t bytes,
    size_t* written) {
    return get("cublasLtMatmulPreferenceGetAttribute", PREFERENCE_FIELDS, made, attribute, value, bytes, written);
}
