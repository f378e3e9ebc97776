#include "reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "blas/numbers.h"

namespace nccl {
namespace {

// The memory format of each type, and the type of its arithmetic.
template <typename N>
struct Plain {
    using Stored = N;
    using Wide = N;
    static Wide widen(Stored x) { return x; }
    static Stored narrow(Wide x) { return x; }
};

struct Half {
    using Stored = uint16_t;
    using Wide = float;
    static Wide widen(Stored x) { return sim::fromHalf(x); }
    static Stored narrow(Wide x) { return blas::toHalf(x); }
};

struct Bf16 {
    using Stored = uint16_t;
    using Wide = float;
    static Wide widen(Stored x) { return sim::fromBf16(x); }
    static Stored narrow(Wide x) { return blas::toBf16(x); }
};

// Integers wrap around.
template <typename W>
W add(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
        using Unsigned = std::make_unsigned_t<W>;
        return static_cast<W>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
        return a + b;
    }
}

template <typename W>
W times(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
        return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
        return a * b;
    }
}

template <typename W>
W larger(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
        return std::max(a, b);
    } else {
        return std::fmax(a, b);
    }
}

template <typename W>
W smaller(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
        return std::min(a, b);
    } else {
        return std::fmin(a, b);
    }
}

// The factor of each rank's numbers before the sum.
template <typename Format>
typename Format::Wide factorOf(int op, const Contribution& contribution, int ranks) {
    using Wide = typename Format::Wide;
    if (op == PREMUL_SUM) {
        typename Format::Stored stored;
        memcpy(&stored, &contribution.factor, sizeof stored);
        return Format::widen(stored);
    }
    return op == AVG && !std::is_integral_v<Wide> ? Wide(1) / static_cast<Wide>(ranks) : Wide(1);
}

template <typename Format, typename Combine>
void fold(int op, const Contribution* contributions, int ranks, void* result, size_t count, Combine combine) {
    using Stored = typename Format::Stored;
    using Wide = typename Format::Wide;
    bool scaled = op == PREMUL_SUM || op == AVG;
    for (size_t i = 0; i < count; ++i) {
        Wide sum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            Wide x = Format::widen(static_cast<const Stored*>(contributions[rank].numbers)[i]);
            x = scaled ? times(x, factorOf<Format>(op, contributions[rank], ranks)) : x;
            sum = rank == 0 ? x : combine(sum, x);
        }
        if constexpr (std::is_integral_v<Wide>) {
            sum = op == AVG ? static_cast<Wide>(sum / static_cast<Wide>(ranks)) : sum;
        }
        static_cast<Stored*>(result)[i] = Format::narrow(sum);
    }
}

template <typename Format>
void reduceAs(int op, const Contribution* contributions, int ranks, void* result, size_t count) {
    using Wide = typename Format::Wide;
    switch (op) {
        case PROD: return fold<Format>(op, contributions, ranks, result, count, times<Wide>);
        case MAX: return fold<Format>(op, contributions, ranks, result, count, larger<Wide>);
        case MIN: return fold<Format>(op, contributions, ranks, result, count, smaller<Wide>);
        default: return fold<Format>(op, contributions, ranks, result, count, add<Wide>);
    }
}

}  // namespace

void reduce(int type, int op, const Contribution* contributions, int ranks, void* result, size_t count) {
    switch (type) {
        case INT8: return reduceAs<Plain<int8_t>>(op, contributions, ranks, result, count);
        case UINT8: return reduceAs<Plain<uint8_t>>(op, contributions, ranks, result, count);
        case INT32: return reduceAs<Plain<int32_t>>(op, contributions, ranks, result, count);
        case UINT32: return reduceAs<Plain<uint32_t>>(op, contributions, ranks, result, count);
        case INT64: return reduceAs<Plain<int64_t>>(op, contributions, ranks, result, count);
        case UINT64: return reduceAs<Plain<uint64_t>>(op, contributions, ranks, result, count);
        case F16: return reduceAs<Half>(op, contributions, ranks, result, count);
        case F32: return reduceAs<Plain<float>>(op, contributions, ranks, result, count);
        case F64: return reduceAs<Plain<double>>(op, contributions, ranks, result, count);
        case BF16: return reduceAs<Bf16>(op, contributions, ranks, result, count);
    }
}

const char* nameOf(int type) {
    constexpr const char* NAMES[] = {"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32",
        "float64", "bfloat16"};
    return type < INT8 || type > BF16 ? "unknown" : NAMES[type];
}

const char* operatorName(int op) {
    constexpr const char* NAMES[] = {"sum", "product", "maximum", "minimum", "average", "sum with factors"};
    return op < SUM || op > PREMUL_SUM ? "unknown" : NAMES[op];
}

}  // namespace nccl
