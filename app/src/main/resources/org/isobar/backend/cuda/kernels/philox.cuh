// Philox 4x32-10, as org.isobar.random.Philox has it: element i of a random field takes word i % 4 of the block with
// counter i / 4; and the masks of dropout, as org.isobar.device.Dropout defines them.
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
        unsigned high0 = __umulhi(0xD2511F53u, c.x);
        unsigned low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z);
        unsigned low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
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

// The factor on one element: 0 where its bits are below the threshold, else `scale`. The threshold is one of 64 bits, for
// it is 2^32 at most.
__device__ __forceinline__ float dropout_factor(PhiloxKey key, unsigned long long index, unsigned long long threshold,
    float scale) {
    return philox_bits(key, index) < threshold ? 0.0f : scale;
}
