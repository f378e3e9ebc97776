// Arithmetic and logic of integers, and logic of predicates.
#include <bit>

#include "warp.h"

namespace ptx {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

template <class T> T sum(T a, T b) { return static_cast<T>(a + b); }
template <class T> T difference(T a, T b) { return static_cast<T>(a - b); }
template <class T> T product(T a, T b) { return static_cast<T>(a * b); }
template <class T> T conjunction(T a, T b) { return static_cast<T>(a & b); }
template <class T> T disjunction(T a, T b) { return static_cast<T>(a | b); }
template <class T> T exclusive(T a, T b) { return static_cast<T>(a ^ b); }
template <class T> T complement(T a) { return static_cast<T>(~a); }
template <class T> T negative(T a) { return static_cast<T>(0 - a); }
template <class T> T least(T a, T b) { return a < b ? a : b; }
template <class T> T most(T a, T b) { return a > b ? a : b; }
template <class T> T productSum(T a, T b, T c) { return static_cast<T>(a * b + c); }
template <class W, class T> W wide(T a, T b) { return static_cast<W>(a) * static_cast<W>(b); }
template <class W, class T> W wideSum(T a, T b, W c) { return static_cast<W>(a) * static_cast<W>(b) + c; }

s32 highSigned(s32 a, s32 b) { return static_cast<s32>(s64{a} * b >> 32); }
u32 highUnsigned(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
u64 highWide(u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); }

// A division by zero has an unspecified result; this one is unlike any quotient that a kernel could use.
template <class T> T quotient(T a, T b) {
    return b == 0 ? static_cast<T>(0xdeadbeefdeadbeefull) : b == static_cast<T>(-1) && T(-1) < 0 ? negative(a)
        : static_cast<T>(a / b);
}

template <class T> T remainder(T a, T b) {
    return b == 0 ? static_cast<T>(0xdeadbeefdeadbeefull) : b == static_cast<T>(-1) && T(-1) < 0 ? T(0)
        : static_cast<T>(a % b);
}

// Shifts by the width or more clamp.
template <class T> T left(T a, u32 by) { return by >= 8 * sizeof(T) ? T(0) : static_cast<T>(a << by); }
template <class T> T right(T a, u32 by) {
    constexpr u32 BITS = 8 * sizeof(T);
    return by >= BITS ? static_cast<T>(T(-1) < 0 && a < 0 ? -1 : 0) : static_cast<T>(a >> by);
}

u32 leadingZeros(u32 a) { return static_cast<u32>(std::countl_zero(a)); }
u32 ones(u32 a) { return static_cast<u32>(std::popcount(a)); }
u32 reversed(u32 a) {
    u32 result = 0;
    for (int bit = 0; bit < 32; ++bit) {
        result |= (a >> bit & 1) << (31 - bit);
    }
    return result;
}

// Bit field insert: the `length` lowest bits of a into b from bit `position` on.
void insert(Warp& warp, const Instruction& i) {
    const u32* a = warp.row<u32>(i.at[1]);
    const u32* b = warp.row<u32>(i.at[2]);
    const u32* position = warp.row<u32>(i.at[3]);
    const u32* length = warp.row<u32>(i.at[4]);
    each(warp, warp.row<u32>(i.at[0]), [=](int lane) {
        u32 from = position[lane] & 0xff;
        u32 count = length[lane] & 0xff;
        u64 field = ((u64{1} << (count > 32 ? 32 : count)) - 1) << (from > 32 ? 32 : from);
        u64 moved = from > 31 ? 0 : u64{a[lane]} << from;
        return static_cast<u32>((b[lane] & ~field) | (moved & field));
    });
}

// Bit field extract, unsigned.
void extract(Warp& warp, const Instruction& i) {
    const u32* a = warp.row<u32>(i.at[1]);
    const u32* position = warp.row<u32>(i.at[2]);
    const u32* length = warp.row<u32>(i.at[3]);
    each(warp, warp.row<u32>(i.at[0]), [=](int lane) {
        u32 from = position[lane] & 0xff;
        u32 count = length[lane] & 0xff;
        u64 field = (u64{1} << (count > 32 ? 32 : count)) - 1;
        return static_cast<u32>(from > 31 ? 0 : (u64{a[lane]} >> from) & field);
    });
}

// Four bytes chosen from eight; the most significant bit of a selector copies the byte's sign.
u32 permuted(u32 a, u32 b, u32 selectors) {
    u64 bytes = u64{b} << 32 | a;
    u32 result = 0;
    for (int i = 0; i < 4; ++i) {
        u32 selector = selectors >> (4 * i) & 0xf;
        u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7)) & 0xff);
        byte = (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xff : 0) : byte;
        result |= byte << (8 * i);
    }
    return result;
}

// Funnel shifts of {b, a}: the upper or the lower word of the shifted pair.
u32 funnelLeftWrapped(u32 a, u32 b, u32 by) {
    return static_cast<u32>((u64{b} << 32 | a) << (by & 31) >> 32);
}
u32 funnelRightWrapped(u32 a, u32 b, u32 by) { return static_cast<u32>((u64{b} << 32 | a) >> (by & 31)); }

template <u32 F(u32, u32)> void predicates(Warp& warp, const Instruction& i) {
    u32& d = warp.predicates[i.at[0]];
    d = (d & ~warp.mask) | (F(warp.predicates[i.at[1]], warp.predicates[i.at[2]]) & warp.mask);
}

void notPredicate(Warp& warp, const Instruction& i) {
    u32& d = warp.predicates[i.at[0]];
    d = (d & ~warp.mask) | (~warp.predicates[i.at[1]] & warp.mask);
}

void movePredicate(Warp& warp, const Instruction& i) {
    u32& d = warp.predicates[i.at[0]];
    d = (d & ~warp.mask) | (warp.predicates[i.at[1]] & warp.mask);
}

#define BINARY(opcode, T, letters, f) {opcode, {binary<T, T, T, f<T>>, letters, Class::INTEGER}}
#define UNARY(opcode, T, letters, f) {opcode, {unary<T, T, f<T>>, letters, Class::INTEGER}}
#define SIZES(name, f) \
    BINARY(name ".s32", u32, "www", f), BINARY(name ".u32", u32, "www", f), BINARY(name ".s64", u64, "lll", f), \
    BINARY(name ".u64", u64, "lll", f), BINARY(name ".s16", u16, "hhh", f), BINARY(name ".u16", u16, "hhh", f)
#define ORDERED(name, f) \
    BINARY(name ".s32", s32, "www", f), BINARY(name ".u32", u32, "www", f), BINARY(name ".s64", s64, "lll", f), \
    BINARY(name ".u64", u64, "lll", f)
#define BITS(name, f) \
    BINARY(name ".b16", u16, "hhh", f), BINARY(name ".b32", u32, "www", f), BINARY(name ".b64", u64, "lll", f)
#define SHIFT(opcode, T, letters, f) {opcode, {binary<T, T, u32, f<T>>, letters, Class::INTEGER}}

}  // namespace

Meanings integerMeanings() {
    return {
        SIZES("add", sum), SIZES("sub", difference), SIZES("mul.lo", product),
        ORDERED("min", least), ORDERED("max", most), ORDERED("div", quotient), ORDERED("rem", remainder),
        BITS("and", conjunction), BITS("or", disjunction), BITS("xor", exclusive),
        UNARY("not.b16", u16, "hh", complement), UNARY("not.b32", u32, "ww", complement),
        UNARY("not.b64", u64, "ll", complement),
        UNARY("neg.s16", u16, "hh", negative), UNARY("neg.s32", u32, "ww", negative),
        UNARY("neg.s64", u64, "ll", negative),
        SHIFT("shl.b16", u16, "hhw", left), SHIFT("shl.b32", u32, "www", left), SHIFT("shl.b64", u64, "llw", left),
        SHIFT("shr.u16", u16, "hhw", right), SHIFT("shr.u32", u32, "www", right), SHIFT("shr.u64", u64, "llw", right),
        SHIFT("shr.s16", s16, "hhw", right), SHIFT("shr.s32", s32, "www", right), SHIFT("shr.s64", s64, "llw", right),
        {"mul.hi.s32", {binary<s32, s32, s32, highSigned>, "www", Class::INTEGER}},
        {"mul.hi.u32", {binary<u32, u32, u32, highUnsigned>, "www", Class::INTEGER}},
        {"mul.hi.u64", {binary<u64, u64, u64, highWide>, "lll", Class::INTEGER}},
        {"mul.wide.s32", {binary<s64, s32, s32, wide<s64, s32>>, "lww", Class::INTEGER}},
        {"mul.wide.u32", {binary<u64, u32, u32, wide<u64, u32>>, "lww", Class::INTEGER}},
        {"mul.wide.s16", {binary<s32, s16, s16, wide<s32, s16>>, "whh", Class::INTEGER}},
        {"mul.wide.u16", {binary<u32, u16, u16, wide<u32, u16>>, "whh", Class::INTEGER}},
        {"mad.lo.s32", {ternary<u32, u32, u32, u32, productSum<u32>>, "wwww", Class::INTEGER}},
        {"mad.lo.u32", {ternary<u32, u32, u32, u32, productSum<u32>>, "wwww", Class::INTEGER}},
        {"mad.lo.s64", {ternary<u64, u64, u64, u64, productSum<u64>>, "llll", Class::INTEGER}},
        {"mad.wide.s32", {ternary<s64, s32, s32, s64, wideSum<s64, s32>>, "lwwl", Class::INTEGER}},
        {"mad.wide.u32", {ternary<u64, u32, u32, u64, wideSum<u64, u32>>, "lwwl", Class::INTEGER}},
        {"bfi.b32", {insert, "wwwww", Class::INTEGER}},
        {"bfe.u32", {extract, "wwww", Class::INTEGER}},
        {"prmt.b32", {ternary<u32, u32, u32, u32, permuted>, "wwww", Class::INTEGER}},
        {"shf.l.wrap.b32", {ternary<u32, u32, u32, u32, funnelLeftWrapped>, "wwww", Class::INTEGER}},
        {"shf.r.wrap.b32", {ternary<u32, u32, u32, u32, funnelRightWrapped>, "wwww", Class::INTEGER}},
        {"clz.b32", {unary<u32, u32, leadingZeros>, "ww", Class::INTEGER}},
        {"popc.b32", {unary<u32, u32, ones>, "ww", Class::INTEGER}},
        {"brev.b32", {unary<u32, u32, reversed>, "ww", Class::INTEGER}},
        {"and.pred", {predicates<conjunction<u32>>, "ppp", Class::INTEGER}},
        {"or.pred", {predicates<disjunction<u32>>, "ppp", Class::INTEGER}},
        {"xor.pred", {predicates<exclusive<u32>>, "ppp", Class::INTEGER}},
        {"not.pred", {notPredicate, "pp", Class::INTEGER}},
        {"mov.pred", {movePredicate, "pp", Class::MOVE}},
    };
}

}  // namespace ptx
