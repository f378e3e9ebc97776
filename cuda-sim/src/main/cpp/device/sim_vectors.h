// Vector types of CUDA, with its alignments: a vector that is not aligned is caught at its use.
#pragma once

#define SIM_VECTOR2(name, T, alignment) \
    struct alignas(alignment) name { T x, y; }; \
    inline name make_##name(T x, T y) { return {x, y}; }
#define SIM_VECTOR3(name, T) \
    struct name { T x, y, z; }; \
    inline name make_##name(T x, T y, T z) { return {x, y, z}; }
#define SIM_VECTOR4(name, T, alignment) \
    struct alignas(alignment) name { T x, y, z, w; }; \
    inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }

SIM_VECTOR2(char2, signed char, 2)
SIM_VECTOR4(char4, signed char, 4)
SIM_VECTOR2(uchar2, unsigned char, 2)
SIM_VECTOR4(uchar4, unsigned char, 4)
SIM_VECTOR2(short2, short, 4)
SIM_VECTOR4(short4, short, 8)
SIM_VECTOR2(ushort2, unsigned short, 4)
SIM_VECTOR4(ushort4, unsigned short, 8)
SIM_VECTOR2(int2, int, 8)
SIM_VECTOR3(int3, int)
SIM_VECTOR4(int4, int, 16)
SIM_VECTOR2(uint2, unsigned, 8)
SIM_VECTOR4(uint4, unsigned, 16)
SIM_VECTOR2(longlong2, long long, 16)
SIM_VECTOR2(ulonglong2, unsigned long long, 16)
SIM_VECTOR2(float2, float, 8)
SIM_VECTOR3(float3, float)
SIM_VECTOR4(float4, float, 16)
SIM_VECTOR2(double2, double, 16)

inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

#undef SIM_VECTOR2
#undef SIM_VECTOR3
#undef SIM_VECTOR4
