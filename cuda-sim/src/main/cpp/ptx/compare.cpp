// Comparisons and selections.
#include "warp.h"

namespace ptx {
namespace {

template <class T, auto F> void compare(Warp& warp, const Instruction& i) {
    const T* a = warp.row<T>(i.at[1]);
    const T* b = warp.row<T>(i.at[2]);
    uint32_t result = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        result |= static_cast<uint32_t>(F(a[lane], b[lane])) << lane;
    }
    uint32_t& d = warp.predicates[i.at[0]];
    d = (d & ~warp.mask) | (result & warp.mask);
}

template <class T> bool equal(T a, T b) { return a == b; }
template <class T> bool below(T a, T b) { return a < b; }
template <class T> bool above(T a, T b) { return a > b; }
template <class T> bool atMost(T a, T b) { return a <= b; }
template <class T> bool atLeast(T a, T b) { return a >= b; }
template <class T> bool unordered(T a, T b) { return a != a || b != b; }
template <class T> bool notEqual(T a, T b) { return !unordered(a, b) && a != b; }
// With a NaN these hold.
template <class T> bool equalOrNot(T a, T b) { return unordered(a, b) || a == b; }
template <class T> bool notEqualOrNot(T a, T b) { return !(a == b); }
template <class T> bool belowOrNot(T a, T b) { return !(a >= b); }
template <class T> bool aboveOrNot(T a, T b) { return !(a <= b); }
template <class T> bool atMostOrNot(T a, T b) { return !(a > b); }
template <class T> bool atLeastOrNot(T a, T b) { return !(a < b); }
template <class T> bool bothOrdered(T a, T b) { return !unordered(a, b); }

template <class T> void select(Warp& warp, const Instruction& i) {
    const T* a = warp.row<T>(i.at[1]);
    const T* b = warp.row<T>(i.at[2]);
    uint32_t chosen = warp.predicates[i.at[3]];
    each(warp, warp.row<T>(i.at[0]), [=](int lane) { return (chosen >> lane & 1) != 0 ? a[lane] : b[lane]; });
}

#define COMPARE(name, T, letters, f) {"setp." name, {compare<T, f<T>>, letters, Class::INTEGER}}
#define INTEGERS(name, f) \
    COMPARE(name ".s16", int16_t, "phh", f), COMPARE(name ".u16", uint16_t, "phh", f), \
    COMPARE(name ".s32", int32_t, "pww", f), COMPARE(name ".u32", uint32_t, "pww", f), \
    COMPARE(name ".s64", int64_t, "pll", f), COMPARE(name ".u64", uint64_t, "pll", f)
#define FLOATS(name, f) \
    {"setp." name ".f32", {compare<float, f<float>>, "pff", Class::FLOAT}}, \
    {"setp." name ".f64", {compare<double, f<double>>, "pdd", Class::DOUBLE}}
#define SELECT(type, T, letters, counted) {"selp." type, {select<T>, letters, counted}}

}  // namespace

Meanings compareMeanings() {
    return {
        INTEGERS("eq", equal), INTEGERS("ne", notEqual), INTEGERS("lt", below), INTEGERS("le", atMost),
        INTEGERS("gt", above), INTEGERS("ge", atLeast),
        COMPARE("eq.b32", uint32_t, "pww", equal), COMPARE("ne.b32", uint32_t, "pww", notEqual),
        COMPARE("eq.b64", uint64_t, "pll", equal), COMPARE("ne.b64", uint64_t, "pll", notEqual),
        FLOATS("eq", equal), FLOATS("ne", notEqual), FLOATS("lt", below), FLOATS("le", atMost), FLOATS("gt", above),
        FLOATS("ge", atLeast), FLOATS("equ", equalOrNot), FLOATS("neu", notEqualOrNot), FLOATS("ltu", belowOrNot),
        FLOATS("leu", atMostOrNot), FLOATS("gtu", aboveOrNot), FLOATS("geu", atLeastOrNot), FLOATS("nan", unordered),
        FLOATS("num", bothOrdered),
        SELECT("b16", uint16_t, "hhhp", Class::INTEGER), SELECT("u16", uint16_t, "hhhp", Class::INTEGER),
        SELECT("s16", uint16_t, "hhhp", Class::INTEGER),
        SELECT("b32", uint32_t, "wwwp", Class::INTEGER), SELECT("u32", uint32_t, "wwwp", Class::INTEGER),
        SELECT("s32", uint32_t, "wwwp", Class::INTEGER), SELECT("b64", uint64_t, "lllp", Class::INTEGER),
        SELECT("u64", uint64_t, "lllp", Class::INTEGER), SELECT("s64", uint64_t, "lllp", Class::INTEGER),
        SELECT("f32", float, "fffp", Class::FLOAT), SELECT("f64", double, "dddp", Class::DOUBLE),
    };
}

}  // namespace ptx
