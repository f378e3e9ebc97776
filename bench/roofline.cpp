// Limits of a CPU for attention: what its execution units need for the least instructions of each part.
//
//   g++ -O3 -march=native -pthread bench/roofline.cpp -o roofline && ./roofline [THREADS]
//
// Needs AVX-512 with BF16. Prints the peaks of fused multiply-add and of BF16 dot products, the rate of a copy, and the
// time of the softmax loops of SoftmaxWeights and SoftmaxGradient on tiles in the L2 cache, with the instructions that
// a processor has for them (BF16 is rounded by one instruction, which Java cannot use). The roofline of attention is
// the sum of products at the peak and softmax at that time, because both need the same units.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <immintrin.h>
#include <thread>
#include <vector>

namespace {
constexpr int kTile = 1 << 14;  // scores of a tile: 64 KB
using Clock = std::chrono::steady_clock;

struct Tile {
    alignas(64) float scores[kTile], gradients[kTile], weights[kTile], results[kTile];
    alignas(64) float references[64], deltas[64];
};

// Median of seven: seconds per call of `body` when all threads call it at once.
double seconds(int threads, int calls, const std::function<void(Tile&, int)>& body) {
    std::vector<Tile> tiles(threads);
    for (Tile& tile : tiles) {
        for (int i = 0; i < kTile; i++) tile.scores[i] = tile.gradients[i] = -0.001f * (i % 4096);
        for (int i = 0; i < 64; i++) tile.references[i] = tile.deltas[i] = 0.01f * i;
    }
    std::vector<double> times;
    for (int round = 0; round < 8; round++) {
        auto start = Clock::now();
        std::vector<std::thread> team;
        for (int t = 0; t < threads; t++) team.emplace_back([&, t] { body(tiles[t], calls); });
        for (std::thread& member : team) member.join();
        if (round > 0) times.push_back(std::chrono::duration<double>(Clock::now() - start).count() / calls);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Independent sums, in registers of their own: more than the units' latency times their number.
#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) __m512 sum##i = _mm512_load_ps(tile.scores + 16 * i);
#define MULTIPLY_ADD(i) sum##i = _mm512_fmadd_ps(x, y, sum##i);
#define DOT_PRODUCT(i) sum##i = _mm512_dpbf16_ps(sum##i, halves, halves);
#define FINISH(i) x = _mm512_add_ps(x, sum##i);
constexpr int kChains = 12, kTerms = 1024;

void multiplyAdd(Tile& tile, int calls) {
    __m512 x = _mm512_load_ps(tile.scores);
    const __m512 y = _mm512_load_ps(tile.gradients);
    EACH_CHAIN(START)
    for (long i = 0; i < static_cast<long>(calls) * kTerms; i++) {
        EACH_CHAIN(MULTIPLY_ADD)
    }
    EACH_CHAIN(FINISH)
    _mm512_store_ps(tile.results, x);
}

void dotProduct(Tile& tile, int calls) {
    __m512 x = _mm512_load_ps(tile.scores);
    const __m512bh halves = _mm512_cvtne2ps_pbh(x, x);
    EACH_CHAIN(START)
    for (long i = 0; i < static_cast<long>(calls) * kTerms; i++) {
        EACH_CHAIN(DOT_PRODUCT)
    }
    EACH_CHAIN(FINISH)
    _mm512_store_ps(tile.results, x);
}

// 2^x by a polynomial of degree 5 or 4, as in SoftmaxPower.
template <int kDegree>
inline __m512 power(__m512 x, __m512 shifted) {
    const auto c = [](float value) { return _mm512_set1_ps(value); };
    const __m512 r = _mm512_sub_ps(x, _mm512_sub_ps(shifted, c(12582912.0f + 127)));
    __m512 p;
    if (kDegree == 5) {
        const __m512 square = _mm512_mul_ps(r, r);
        const __m512 p01 = _mm512_fmadd_ps(r, c(0.6931472f), c(1)), p23 = _mm512_fmadd_ps(r, c(0.0555f), c(0.24022f));
        p = _mm512_fmadd_ps(_mm512_fmadd_ps(_mm512_fmadd_ps(r, c(0.00133f), c(0.00967f)), square, p23), square, p01);
    } else {
        p = _mm512_fmadd_ps(_mm512_fmadd_ps(r, c(0.00959f), c(0.0559f)), r, c(0.2403f));
        p = _mm512_fmadd_ps(_mm512_fmadd_ps(p, r, c(0.69314f)), r, c(1));
    }
    return _mm512_mul_ps(p, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23)));
}

template <bool kHalf>
void forward(Tile& tile, int calls) {
    const __m512 scale = _mm512_set1_ps(0.2f), reference = _mm512_set1_ps(0.5f);
    const __m512 round = _mm512_set1_ps(12582912.0f + 127);
    const __m512i within = _mm512_set1_epi32(0x4b400000);
    __m512 sum = _mm512_setzero_ps();
    __m512i range = _mm512_setzero_si512();
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < kTile; i += 32) {
            __m512 weight[2];
            for (int j = 0; j < 2; j++) {
                const __m512 score = _mm512_load_ps(tile.scores + i + 16 * j);
                const __m512 x = kHalf ? _mm512_fmadd_ps(score, scale, reference)
                                       : _mm512_mul_ps(_mm512_sub_ps(score, reference), scale);
                const __m512 shifted = _mm512_add_ps(x, round);
                range = _mm512_ternarylogic_epi32(range, _mm512_castps_si512(shifted), within, 0xf6);  // a | b ^ c
                weight[j] = power<kHalf ? 4 : 5>(x, shifted);
                sum = _mm512_add_ps(sum, weight[j]);
                if (!kHalf) _mm512_store_ps(tile.weights + i + 16 * j, weight[j]);
            }
            if (kHalf) _mm512_store_si512(tile.weights + i / 2, (__m512i) _mm512_cvtne2ps_pbh(weight[1], weight[0]));
        }
        asm volatile("" ::: "memory");
    }
    _mm512_store_ps(tile.results, _mm512_add_ps(sum, _mm512_castsi512_ps(range)));
}

template <bool kHalf>
void backward(Tile& tile, int calls) {
    const __m512 scale = _mm512_set1_ps(0.2f), round = _mm512_set1_ps(12582912.0f + 127);
    const __m512 least = _mm512_set1_ps(-125), greatest = _mm512_set1_ps(1);
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < kTile; i += 16) {
            const __m512 reference = _mm512_load_ps(tile.references + i % 64);
            const __m512 delta = _mm512_load_ps(tile.deltas + i % 64);
            const __m512 raw = _mm512_fmadd_ps(_mm512_load_ps(tile.scores + i), scale, reference);
            const __m512 x = _mm512_min_ps(_mm512_max_ps(raw, least), greatest);
            const __m512 weight = power<5>(x, _mm512_add_ps(x, round));
            const __m512 result = _mm512_mul_ps(_mm512_sub_ps(_mm512_load_ps(tile.gradients + i), delta), weight);
            if (kHalf) {
                _mm256_store_si256((__m256i*) (tile.weights + i / 2), (__m256i) _mm512_cvtneps_pbh(weight));
                _mm256_store_si256((__m256i*) (tile.results + i / 2), (__m256i) _mm512_cvtneps_pbh(result));
            } else {
                _mm512_store_ps(tile.weights + i, weight);
                _mm512_store_ps(tile.results + i, result);
            }
        }
        asm volatile("" ::: "memory");
    }
}

struct Peaks {
    double multiplyAdd, dotProduct;  // multiplications and additions per second, all threads
    double softmax[2][2];            // seconds per vector of 16 scores and thread: [backward][half]
};

// One head: products of `terms` multiply-adds per score, and the softmax.
void printLimit(const char* name, const Peaks& peaks, int threads, int products, int backward, int half, double dim) {
    const double perVector = 2.0 * 16 * products * dim / ((half ? peaks.dotProduct : peaks.multiplyAdd) / threads);
    const double softmax = peaks.softmax[backward][half];
    std::printf("| %s, heads of %.0f | %.2f | %.2f | %.0f %% | %.0f |\n", name, dim, perVector * 1e9, softmax * 1e9,
                100 * perVector / (perVector + softmax),
                2.0 * 16 * products * dim / (perVector + softmax) * threads / 1e9);
}
}  // namespace

int main(int count, char** arguments) {
    const int threads = count > 1 ? std::atoi(arguments[1]) : static_cast<int>(std::thread::hardware_concurrency());
    const double flops = 2.0 * 16 * kChains * kTerms * threads;
    Peaks peaks{flops / seconds(threads, 2000, multiplyAdd), 2 * flops / seconds(threads, 2000, dotProduct), {}};
    const double vectors = kTile / 16;
    peaks.softmax[0][0] = seconds(threads, 4000, forward<false>) / vectors;
    peaks.softmax[0][1] = seconds(threads, 4000, forward<true>) / vectors;
    peaks.softmax[1][0] = seconds(threads, 4000, backward<false>) / vectors;
    peaks.softmax[1][1] = seconds(threads, 4000, backward<true>) / vectors;
    std::printf("%d threads: %.0f GFLOP/s of multiply-adds, %.0f GFLOP/s of BF16 dot products\n\n", threads,
                peaks.multiplyAdd / 1e9, peaks.dotProduct / 1e9);
    std::printf("| attention | products, ns per 16 scores | softmax, ns | products' share | GFLOP/s at most |\n"
                "| --- | --- | --- | --- | --- |\n");
    for (double dim : {32.0, 48.0, 64.0, 128.0}) {
        printLimit("fp32 forward", peaks, threads, 2, 0, 0, dim);
        printLimit("fp32 backward", peaks, threads, 5, 1, 0, dim);
        printLimit("bf16 forward", peaks, threads, 2, 0, 1, dim);
        printLimit("bf16 backward", peaks, threads, 5, 1, 1, dim);
    }
}
