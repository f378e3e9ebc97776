/*
 * Computes VDPBF16PS, VCVTNEPS2BF16 and VCVTNE2PS2BF16 (AVX-512 BF16) on a processor with AVX-512 that lacks them.
 * Preload it: its handler of SIGILL computes the instruction, and Java passes that signal on. Instructions and their
 * EVEX encoding: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { VECTOR = 64, DOT_PRODUCT = 0x52, CONVERSION = 0x72 };

/* Places in the saved state of the standard form of XSAVE, and the bits of its parts. */
enum { XMM = 160, PARTS = 512, YMM = 576, MASKS = 1088, UPPER_HALVES = 1152, ZMM_16 = 1664 };
enum { SSE = 2, AVX = 4, OPMASK = 32, ZMM_HI256 = 64, HI16_ZMM = 128 };

static const int GENERAL[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

typedef struct {
    int opcode, prefix, bytes, broadcast, zeroing, mask; /* prefix: 2 is F3, 3 is F2 */
    int target, first;                                   /* vector registers */
    uint8_t second[VECTOR];
    const uint8_t *next;
} Instruction;

/* Parts that are in their initial state are zero, whatever the memory has. */
static void initialize(uint8_t *state) {
    static const struct { int bit, at, bytes; } parts[] = {{SSE, XMM, 256}, {AVX, YMM, 256}, {OPMASK, MASKS, 64},
        {ZMM_HI256, UPPER_HALVES, 512}, {HI16_ZMM, ZMM_16, 1024}};
    uint64_t present;
    memcpy(&present, state + PARTS, sizeof present);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!(present & parts[i].bit)) memset(state + parts[i].at, 0, parts[i].bytes);
        present |= parts[i].bit;
    }
    memcpy(state + PARTS, &present, sizeof present);
}

static void read_vector(const uint8_t *state, int number, uint8_t *to) {
    if (number >= 16) {
        memcpy(to, state + ZMM_16 + VECTOR * (number - 16), VECTOR);
        return;
    }
    memcpy(to, state + XMM + 16 * number, 16);
    memcpy(to + 16, state + YMM + 16 * number, 16);
    memcpy(to + 32, state + UPPER_HALVES + 32 * number, 32);
}

static void write_vector(uint8_t *state, int number, const uint8_t *from) {
    if (number >= 16) {
        memcpy(state + ZMM_16 + VECTOR * (number - 16), from, VECTOR);
        return;
    }
    memcpy(state + XMM + 16 * number, from, 16);
    memcpy(state + YMM + 16 * number, from + 16, 16);
    memcpy(state + UPPER_HALVES + 32 * number, from + 32, 32);
}

static int32_t displacement(const uint8_t **at) {
    int32_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

/* Address of an operand in memory; next is behind ModRM and moves behind the operand. No immediate follows. */
static uint64_t address(const greg_t *general, const uint8_t *code, Instruction *to) {
    int mode = code[5] >> 6, base = code[5] & 7, extended = code[1] & 0x20 ? 0 : 8;
    const uint8_t *at = code + 6;
    uint64_t sum = 0;
    if (base == 4) {
        int sib = *at++, index = (sib >> 3 & 7) | (code[1] & 0x40 ? 0 : 8);
        base = sib & 7;
        sum = base == 5 && mode == 0 ? (uint64_t)displacement(&at) : (uint64_t)general[GENERAL[base | extended]];
        if (index != 4) sum += (uint64_t)general[GENERAL[index]] << (sib >> 6);
    } else if (base == 5 && mode == 0) {
        sum = displacement(&at);
        sum += (uint64_t)at;
    } else {
        sum = general[GENERAL[base | extended]];
    }
    if (mode == 1) sum += (int64_t)(int8_t)*at++ * (to->broadcast ? 4 : to->bytes);
    if (mode == 2) sum += displacement(&at);
    to->next = at;
    return sum;
}

/* Returns 0 if the code at an address is none of the three instructions. */
static int decode(const uint8_t *code, const greg_t *general, const uint8_t *state, Instruction *to) {
    to->opcode = code[4];
    to->prefix = code[2] & 3;
    if (code[0] != 0x62 || (code[1] & 7) != 2 || code[2] >> 7 || (code[3] >> 5 & 3) == 3
        || !(to->prefix == 2 && (to->opcode == DOT_PRODUCT || to->opcode == CONVERSION)
            || to->prefix == 3 && to->opcode == CONVERSION)) return 0;
    to->bytes = 16 << (code[3] >> 5 & 3);
    to->broadcast = code[3] >> 4 & 1;
    to->zeroing = code[3] >> 7;
    to->mask = code[3] & 7;
    to->target = (code[5] >> 3 & 7) | (code[1] & 0x80 ? 0 : 8) | (code[1] & 0x10 ? 0 : 16);
    to->first = (~code[2] >> 3 & 15) | (code[3] & 8 ? 0 : 16);
    if (code[5] >> 6 == 3) {
        read_vector(state, (code[5] & 7) | (code[1] & 0x20 ? 0 : 8) | (code[1] & 0x40 ? 0 : 16), to->second);
        to->next = code + 6;
        return 1;
    }
    const void *memory = (const void *)address(general, code, to);
    for (int i = 0; i < to->bytes; i += 4) {
        memcpy(to->second + i, (const uint8_t *)memory + (to->broadcast ? 0 : i), 4);
    }
    return 1;
}

/* Numbers below the least normal one are zero. */
static float normal(uint32_t bits) {
    if (!(bits & 0x7f800000)) bits &= 0x80000000;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* sum + the product of the upper halves + that of the lower ones. Products of two numbers in bf16 are exact. */
static uint32_t dot_product(uint32_t sum, uint32_t x, uint32_t y) {
    float upper = __builtin_fmaf(normal(x & 0xffff0000), normal(y & 0xffff0000), normal(sum));
    float both = __builtin_fmaf(normal(x << 16), normal(y << 16), normal(bits_of(upper)));
    return bits_of(normal(bits_of(both)));
}

/* To nearest, ties to even. */
static uint16_t rounded(uint32_t bits) {
    if (!(bits & 0x7f800000)) return bits >> 16 & 0x8000;
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40; /* NaN */
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void compute(const Instruction *it, uint8_t *state) {
    uint8_t first[VECTOR], result[VECTOR] = {0}, old[VECTOR];
    uint64_t mask = ~0ULL;
    int size = it->opcode == DOT_PRODUCT ? 4 : 2;
    int floats = it->bytes / 4, results = it->prefix == 3 ? 2 * floats : floats;
    read_vector(state, it->first, first);
    read_vector(state, it->target, old);
    if (it->mask) memcpy(&mask, state + MASKS + 8 * it->mask, sizeof mask);
    for (int i = 0; i < results; i++) {
        uint32_t x, y, value = 0;
        memcpy(&x, first + 4 * (i % floats), 4);
        memcpy(&y, it->second + 4 * (i % floats), 4);
        memcpy(&value, old + size * i, size);
        if (!(mask >> i & 1)) value = it->zeroing ? 0 : value;
        else value = it->opcode == DOT_PRODUCT ? dot_product(value, x, y) : rounded(i < floats ? y : x);
        memcpy(result + size * i, &value, size);
    }
    write_vector(state, it->target, result);
}

static void handle(int signal_number, siginfo_t *info, void *context) {
    (void)info;
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    const uint8_t *code = (const uint8_t *)machine->gregs[REG_RIP];
    uint8_t *state = (uint8_t *)machine->fpregs;
    Instruction instruction = {0};
    initialize(state);
    if (decode(code, machine->gregs, state, &instruction)) {
        compute(&instruction, state);
        machine->gregs[REG_RIP] = (greg_t)instruction.next;
        return;
    }
    fprintf(stderr, "no such instruction: %02x %02x %02x %02x %02x %02x\n", code[0], code[1], code[2], code[3], code[4],
        code[5]);
    signal(signal_number, SIG_DFL);
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigaction(SIGILL, &action, NULL);
}
