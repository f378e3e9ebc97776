// Matrix products of a warp, and loads of their fragments. The layouts are those of the PTX ISA's chapter on matrices:
// lane 4 g + t holds elements of rows g and g + 8 and of columns 2 t and 2 t + 1 (TF32: t and t + 4).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "traffic.h"

namespace ptx {
namespace {

constexpr int ROWS = 16;
constexpr int COLUMNS = 8;

// A number as a significand of up to 24 bits and the exponent of its leading bit.
struct Number {
    double value;
    int exponent;  // of an operand's 1; far below all others for 0
};

constexpr int NOTHING = -1000;

Number numberOf(float a, int least) {
    uint32_t bits = std::bit_cast<uint32_t>(a);
    int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
    return {a, a == 0 ? NOTHING : std::max(exponent, least)};
}

float bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
float tf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
float half(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 0x1f;
    float size = exponent == 0x1f ? std::bit_cast<float>(0x7f800000u | (bits & 0x3ff) << 13)
        : exponent == 0 ? static_cast<float>(bits & 0x3ff) * 0x1p-24f
        : std::bit_cast<float>((exponent + 112) << 23 | (bits & 0x3ff) << 13);
    return (bits & 0x8000) != 0 ? -size : size;
}

// Towards zero, to 24 bits.
float truncated(double a) {
    float rounded = static_cast<float>(a);
    return std::fabs(static_cast<double>(rounded)) > std::fabs(a) ? std::nextafter(rounded, 0.0f) : rounded;
}

// c + the sum of n products, as tensor cores compute it: products are exact; all terms are aligned to the largest
// exponent and cut to `fraction` bits behind it, then summed exactly, and the sum is cut to single precision. (MMA-Sim,
// arXiv 2511.10909; exponents of products are the sums of their operands' and are not normalized.)
float fusedSum(const Number* a, const Number* b, int n, float c, int fraction) {
    Number addend = numberOf(c, -126);
    int most = addend.exponent;
    double plain = c;
    for (int k = 0; k < n; ++k) {
        most = std::max(most, a[k].exponent + b[k].exponent);
        plain += a[k].value * b[k].value;
    }
    if (!std::isfinite(plain)) {
        return std::isnan(plain) ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(plain);
    }
    if (most < NOTHING / 2) {
        return 0;
    }
    double scale = std::ldexp(1.0, fraction - most);
    double sum = std::trunc(addend.value * scale);
    for (int k = 0; k < n; ++k) {
        sum += std::trunc(a[k].value * b[k].value * scale);
    }
    return truncated(std::ldexp(sum, most - fraction));
}

struct Cores {
    int terms;     // of a fused sum
    int fraction;  // bits
};

// Capability 8.x sums half of the terms at a time.
Cores coresOf(int capability, int terms) {
    return capability >= 90 ? Cores{terms, 25} : Cores{terms / 2, 24};
}

// d = a b + c, of K terms, PER of them in a register.
template <int K, int PER, auto DECODE> void multiply(Warp& warp, const Instruction& i) {
    if (warp.mask != ALL) {
        fail(warp, i, "a matrix product needs all lanes of the warp");
    }
    constexpr int LEAST = DECODE == half ? -14 : -126;
    constexpr uint32_t PART = PER == 2 ? 0xffff : ALL;
    std::array<Number, K> a[ROWS];
    std::array<Number, K> b[COLUMNS];
    for (int lane = 0; lane < LANES; ++lane) {
        int g = lane / 4;
        int t = lane % 4;
        for (int part = 0; part < PER; ++part) {
            for (int r = 0; r < 4; ++r) {
                uint32_t bits = warp.row<uint32_t>(i.at[4 + r])[lane] >> (16 * part) & PART;
                a[g + 8 * (r % 2)][PER * t + part + r / 2 * (K / 2)] = numberOf(DECODE(bits), LEAST);
            }
            for (int r = 0; r < 2; ++r) {
                uint32_t bits = warp.row<uint32_t>(i.at[8 + r])[lane] >> (16 * part) & PART;
                b[g][PER * t + part + r * (K / 2)] = numberOf(DECODE(bits), LEAST);
            }
        }
    }
    Cores cores = coresOf(warp.block->launch->capability, K);
    float result[4][LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        for (int r = 0; r < 4; ++r) {
            int row = lane / 4 + 8 * (r / 2);
            int column = lane % 4 * 2 + r % 2;
            float sum = warp.row<float>(i.at[10 + r])[lane];
            for (int k = 0; k < K; k += cores.terms) {
                sum = fusedSum(&a[row][k], &b[column][k], cores.terms, sum, cores.fraction);
            }
            result[r][lane] = sum;
        }
    }
    for (int r = 0; r < 4; ++r) {
        memcpy(warp.row<float>(i.at[r]), result[r], sizeof result[r]);
    }
}

// Four matrices of 8 x 8 elements of 16 bits; lanes 8 m to 8 m + 7 have the addresses of the rows of matrix m.
template <bool TRANSPOSED> void loadMatrices(Warp& warp, const Instruction& i) {
    if (warp.mask != ALL) {
        fail(warp, i, "a load of matrices needs all lanes of the warp");
    }
    Block& block = *warp.block;
    uint16_t matrix[4][8][8];
    uint32_t addresses[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        addresses[lane] = warp.row<uint32_t>(i.at[4])[lane] + static_cast<uint32_t>(i.offset);
        checkShared(warp, i, block.shared.read(addresses[lane], sizeof matrix[0][0], warp.number,
            static_cast<uint32_t>(block.barriers), matrix[lane / 8][lane % 8]));
    }
    countShared(*block.counts, addresses, ALL, sizeof matrix[0][0]);
    for (int m = 0; m < 4; ++m) {
        uint32_t* d = warp.row<uint32_t>(i.at[m]);
        for (int lane = 0; lane < LANES; ++lane) {
            int g = lane / 4;
            int t = lane % 4 * 2;
            uint32_t low = TRANSPOSED ? matrix[m][t][g] : matrix[m][g][t];
            uint32_t high = TRANSPOSED ? matrix[m][t + 1][g] : matrix[m][g][t + 1];
            d[lane] = high << 16 | low;
        }
    }
}

constexpr const char* PRODUCT = "ffffwwwwwwffff";

}  // namespace

Meanings matrixMeanings() {
    return {
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {multiply<16, 2, bf16>, PRODUCT, Class::MATRIX}},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {multiply<16, 2, half>, PRODUCT, Class::MATRIX}},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", {multiply<8, 1, tf32>, PRODUCT, Class::MATRIX}},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", {loadMatrices<false>, "wwwws", Class::SHARED}},
        {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", {loadMatrices<true>, "wwwws", Class::SHARED}},
    };
}

}  // namespace ptx
