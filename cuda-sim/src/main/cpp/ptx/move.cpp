// Moves between registers, and between a register and its parts.
#include "warp.h"

namespace ptx {
namespace {

template <class T> T same(T a) { return a; }

// Two halves, the lower first.
template <class W, class H> W packed(H low, H high) {
    return static_cast<W>(static_cast<W>(high) << (8 * sizeof(H)) | low);
}

template <class W, class H> void unpack(Warp& warp, const Instruction& i) {
    const W* a = warp.row<W>(i.at[2]);
    H* low = warp.row<H>(i.at[0]);
    H* high = warp.row<H>(i.at[1]);
    for (int lane = 0; lane < LANES; ++lane) {
        W word = a[lane];
        if ((warp.mask >> lane & 1) != 0) {
            low[lane] = static_cast<H>(word);
            high[lane] = static_cast<H>(word >> (8 * sizeof(H)));
        }
    }
}

#define MOVE(opcode, T, letters) {opcode, {unary<T, T, same<T>>, letters, Class::MOVE}}

}  // namespace

Meanings moveMeanings() {
    return {
        MOVE("mov.b16", uint16_t, "hh"), MOVE("mov.u16", uint16_t, "hh"), MOVE("mov.s16", uint16_t, "hh"),
        MOVE("mov.b32", uint32_t, "ww"), MOVE("mov.u32", uint32_t, "ww"), MOVE("mov.s32", uint32_t, "ww"),
        MOVE("mov.b64", uint64_t, "ll"), MOVE("mov.u64", uint64_t, "ll"), MOVE("mov.s64", uint64_t, "ll"),
        MOVE("mov.f32", uint32_t, "ff"), MOVE("mov.f64", uint64_t, "dd"),
        MOVE("cvta.to.global.u64", uint64_t, "ll"),  // generic addresses of global memory are the same numbers
        {"mov.b32 pack", {binary<uint32_t, uint16_t, uint16_t, packed<uint32_t, uint16_t>>, "whh", Class::MOVE}},
        {"mov.b64 pack", {binary<uint64_t, uint32_t, uint32_t, packed<uint64_t, uint32_t>>, "lww", Class::MOVE}},
        {"mov.b32 unpack", {unpack<uint32_t, uint16_t>, "hhw", Class::MOVE}},
        {"mov.b64 unpack", {unpack<uint64_t, uint32_t>, "wwl", Class::MOVE}},
    };
}

}  // namespace ptx
