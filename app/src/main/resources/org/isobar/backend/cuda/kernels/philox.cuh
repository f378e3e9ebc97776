// Philox 4x32-10, as in org.isobar.random.Philox: element i of a random field takes word i % 4 of the block with
// counter i / 4. Also the masks of dropout, as defined in org.isobar.device.ops.Dropout.
#pragma once

struct PhiloxKey {
    unsigned long long bits;
    unsigned long long stream;
};

__device__ __forceinline__ uint4 philox(PhiloxKey key, unsigned long long block) {
    uint4 c = make_uint4(static_cast<unsigned>(block), static_cast<unsigned>(block >> 32),
        static_cast<unsigned>(key.stream), static_cast<unsigned>(key.stream >> 32));
    unsigned k0 = static_cast<unsigned>(key.bits);
    unsigned k1 = static_cast<unsigned>(key.bits >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        unsigned long long product0 = 0xD2511F53ull * c.x;
        unsigned long long product1 = 0xCD9E8D57ull * c.z;
        c = make_uint4(static_cast<unsigned>(product1 >> 32) ^ c.y ^ k0, static_cast<unsigned>(product1),
            static_cast<unsigned>(product0 >> 32) ^ c.w ^ k1, static_cast<unsigned>(product0));
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// The 32 random bits of one element.
__device__ __forceinline__ unsigned philox_bits(PhiloxKey key, unsigned long long index) {
    uint4 words = philox(key, index >> 2);
    unsigned word = static_cast<unsigned>(index) & 3;
    return word == 0 ? words.x : word == 1 ? words.y : word == 2 ? words.z : words.w;
}

// The factor on one element: 0 if its bits are below the threshold, else `scale`. The threshold has 64 bits, because it
// may be 2^32.
__device__ __forceinline__ float dropout_factor(PhiloxKey key, unsigned long long index, unsigned long long threshold,
    float scale) {
    return philox_bits(key, index) < threshold ? 0.0f : scale;
}

// The bits of N neighbours from element `first` on; each counter block is computed once.
template <int N>
__device__ __forceinline__ void philox_run(unsigned (&bits)[N], PhiloxKey key, unsigned long long first) {
    constexpr int BLOCKS = (N + 3) / 4;
    unsigned words[4 * BLOCKS + 4];
    unsigned shift = static_cast<unsigned>(first) & 3;
#pragma unroll
    for (int block = 0; block <= BLOCKS; ++block) {
        uint4 four = make_uint4(0, 0, 0, 0);
        if (block < BLOCKS || 4 * BLOCKS < shift + N) {
            four = philox(key, (first >> 2) + block);
        }
        words[4 * block] = four.x;
        words[4 * block + 1] = four.y;
        words[4 * block + 2] = four.z;
        words[4 * block + 3] = four.w;
    }
#pragma unroll
    for (int j = 0; j < N; ++j) { // no index that depends on `shift`, or the words would leave the registers
        unsigned even = shift & 2 ? words[j + 2] : words[j];
        unsigned odd = shift & 2 ? words[j + 3] : words[j + 1];
        bits[j] = shift & 1 ? odd : even;
    }
}

// The factors on N elements whose global indices are `first`, `first + step`, ...
template <int N>
__device__ __forceinline__ void dropout_factors(float (&factor)[N], PhiloxKey key, unsigned long long first,
    unsigned long long step, unsigned long long threshold, float scale) {
    unsigned bits[N];
    if (N > 1 && step == 1) {
        philox_run(bits, key, first);
    } else {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            bits[j] = philox_bits(key, first + j * step);
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        factor[j] = bits[j] < threshold ? 0.0f : scale;
    }
}

// The factor on a sample, whose global index is start + b step; 1 without dropout.
__device__ __forceinline__ float sample_factor(long long sample, PhiloxKey key, unsigned long long start,
    unsigned long long step, unsigned long long threshold, float scale) {
    return threshold == 0 ? 1.0f : dropout_factor(key, start + sample * step, threshold, scale);
}
