package org.isobar.backend.cpu.avx2;

/**
 * Encodes the few instructions of which the kernels consist, for x86-64 in 64-bit mode (Intel, "Software Developer's
 * Manual", volume 2; vector instructions of 256 bits, in the form with a VEX prefix). Vector registers, of eight floats
 * or integers of 32 bits, or of four doubles, are numbered 0 to 15. Memory operands are a base register plus a
 * displacement in bytes, or a {@link Constant}.
 */
final class Assembler extends InstructionEncoder {
    // General registers that a function of the System V ABI may change; the arguments are in these, from the first on:
    // RDI, RSI, RDX, RCX, R8 and R9. Further arguments are on the stack, of which RSP has the address.
    static final int RAX = 0;
    static final int RCX = 1;
    static final int RDX = 2;
    static final int RSP = 4;
    static final int RSI = 6;
    static final int RDI = 7;
    static final int R8 = 8;
    static final int R9 = 9;
    static final int R10 = 10;
    static final int R11 = 11;

    /** Address of the seventh argument, less RSP. Further ones follow. */
    static final int SEVENTH = Long.BYTES;

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, int y) {
        vex(operation, to, x, y);
        modRm(DIRECT, to, y);
    }

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, Constant y) {
        vex(operation, to, x, 0);
        memory(to, y);
    }

    /** {@code to = x operation y}, where y is in memory, not necessarily aligned. */
    void apply(Operation operation, int to, int x, int base, long displacement) {
        vex(operation, to, x, base);
        memory(to, base, displacement);
    }

    /** {@code to = from}. */
    void copyVector(int to, int from) {
        vex(MAP_0F, NO_PREFIX, 0x28, to, UNUSED, from);
        modRm(DIRECT, to, from);
    }

    /** {@code to = memory}, not necessarily aligned. */
    void load(int to, int base, long displacement) {
        vex(MAP_0F, NO_PREFIX, 0x10, to, UNUSED, base);
        memory(to, base, displacement);
    }

    void load(int to, Constant constant) {
        vex(MAP_0F, NO_PREFIX, 0x10, to, UNUSED, 0);
        memory(to, constant);
    }

    /** {@code memory = from}, not necessarily aligned. */
    void store(int base, long displacement, int from) {
        vex(MAP_0F, NO_PREFIX, 0x11, from, UNUSED, base);
        memory(from, base, displacement);
    }

    /** Loads the lanes whose sign bit is set in {@code mask}; the others become zero and are not accessed. */
    void load(int to, int mask, int base, long displacement) {
        vex(MAP_0F38, PREFIX_66, 0x2C, to, mask, base);
        memory(to, base, displacement);
    }

    /** Stores the lanes whose sign bit is set in {@code mask}; the others are not accessed. */
    void store(int base, long displacement, int mask, int from) {
        vex(MAP_0F38, PREFIX_66, 0x2E, from, mask, base);
        memory(from, base, displacement);
    }

    /** Sets all lanes to the float in memory. */
    void broadcast(int to, int base, long displacement) {
        vex(MAP_0F38, PREFIX_66, 0x18, to, UNUSED, base);
        memory(to, base, displacement);
    }

    /** Sets all lanes to the lower 32 bits of a general register. */
    void broadcastBits(int to, int from) {
        vexHalf(PREFIX_66, 0x6E, to, from); // vmovd
        modRm(DIRECT, to, from);
        vex(MAP_0F38, PREFIX_66, 0x18, to, UNUSED, to);
        modRm(DIRECT, to, to);
    }

    /** {@code to = 0}. */
    void zero(int to) {
        apply(Operation.XOR, to, to, to);
    }

    /** {@code to = from << bits}, for integers. */
    void shiftLeft(int to, int from, int bits) {
        vex(MAP_0F, PREFIX_66, 0x72, 6, to, from);
        modRm(DIRECT, 6, from);
        int8(bits);
    }

    /** The square root of each lane. */
    void squareRoot(int to, int from) {
        vex(MAP_0F, NO_PREFIX, 0x51, to, UNUSED, from);
        modRm(DIRECT, to, from);
    }

    /** Loads half a vector of floats as doubles. */
    void loadDoubles(int to, int base, long displacement) {
        vex(MAP_0F, NO_PREFIX, 0x5A, to, UNUSED, base);
        memory(to, base, displacement);
    }

    /** Stores the first lane, a float. */
    void storeFloat(int base, long displacement, int from) {
        vex(MAP_0F, PREFIX_F3, 0x11, from, UNUSED, base);
        memory(from, base, displacement);
    }

    /** Exchanges the doubles of each half. */
    void swapDoubles(int to, int from) {
        vex(MAP_0F, PREFIX_66, 0xC6, to, from, from);
        modRm(DIRECT, to, from);
        int8(0b0101);
    }

    /** The lanes of y whose sign bit is set in {@code mask}, and those of x elsewhere. */
    void select(int to, int x, int y, int mask) {
        vex(MAP_0F3A, PREFIX_66, 0x4A, to, x, y);
        modRm(DIRECT, to, y);
        int8(mask << 4);
    }

    /**
     * Sets all lanes to the sum or other reduction of the lanes, in the order of {@link
     * org.isobar.backend.cpu.vector.Lanes#sum}.
     *
     * @param spare a register that may change
     */
    void reduce(Operation operation, int vector, int spare) {
        permuteHalves(spare, vector, vector, 0x01);
        apply(operation, vector, vector, spare);
        shuffle(spare, vector, vector, 0x4E);
        apply(operation, vector, vector, spare);
        shuffle(spare, vector, vector, 0xB1);
        apply(operation, vector, vector, spare);
    }

    /** Sets all bits of the lanes where x is less than y; NaN is not. */
    void less(int to, int x, int y) {
        vex(MAP_0F, NO_PREFIX, 0xC2, to, x, y);
        modRm(DIRECT, to, y);
        int8(0x11);
    }

    /** Sets the lower 32 bits of a general register to those of the first lane, and the others to zero. */
    void firstBits(int to, int from) {
        vexHalf(PREFIX_66, 0x7E, from, to); // vmovd
        modRm(DIRECT, from, to);
    }

    /** Sets a general register to the bits of the first lane, a double. */
    void firstDoubleBits(int to, int from) {
        vexHalf(PREFIX_66 | WIDE, 0x7E, from, to); // vmovq
        modRm(DIRECT, from, to);
    }

    /** Sets the lower eight bits of a general register to the sign bits of the lanes, and the others to zero. */
    void signs(int to, int from) {
        vex(MAP_0F, NO_PREFIX, 0x50, to, UNUSED, from);
        modRm(DIRECT, to, from);
    }

    /** In each half, two lanes of x followed by two of y, selected by two bits each. */
    void shuffle(int to, int x, int y, int lanes) {
        vex(MAP_0F, NO_PREFIX, 0xC6, to, x, y);
        modRm(DIRECT, to, y);
        int8(lanes);
    }

    /** Joins two halves of x and y, selected by the lower two bits of each half byte. */
    void permuteHalves(int to, int x, int y, int halves) {
        vex(MAP_0F3A, PREFIX_66, 0x06, to, x, y);
        modRm(DIRECT, to, y);
        int8(halves);
    }

    /** Ends the use of 256-bit registers, which would slow down code for SSE. */
    private void zeroUpper() {
        int8(0xC5);
        int8(0xF8);
        int8(0x77);
    }

    /** {@code to = value}, zero-extended to 64 bits. */
    void move(int to, int value) {
        if (to > LOW_BITS) {
            int8(0x41);
        }
        int8(0xB8 | to & LOW_BITS);
        int32(value);
    }

    /** {@code to = from}, 64 bits. */
    void copy(int to, int from) {
        apply64(0x89, to, from);
    }

    /** {@code to = memory}, 64 bits. */
    void load64(int to, int base, long displacement) {
        rex(to, base);
        int8(0x8B);
        memory(to, base, displacement);
    }

    /** {@code memory = from}, 64 bits. */
    void store64(int base, long displacement, int from) {
        rex(from, base);
        int8(0x89);
        memory(from, base, displacement);
    }

    /** {@code to += from}, 64 bits. */
    void add64(int to, int from) {
        apply64(0x01, to, from);
    }

    /** {@code to -= from}, 64 bits. */
    void subtract64(int to, int from) {
        apply64(0x29, to, from);
    }

    /** Multiplies a register by the size of a vector in bytes. */
    void timesVector(int register) {
        rex(0, register);
        int8(0xC1);
        modRm(DIRECT, 4, register);
        int8(Integer.numberOfTrailingZeros(VECTOR));
    }

    /** {@code register += value}, 64 bits. */
    void increase(int register, long value) {
        rex(0, register);
        int8(0x81);
        modRm(DIRECT, 0, register);
        int32(Math.toIntExact(value));
    }

    /**
     * Emits a loop that runs {@code code} once per vector. The register {@code vectors} holds their number, at least
     * one. After each, the addresses increase by a vector.
     */
    void forEachVector(int vectors, Runnable code, int... addresses) {
        int loop = position();
        code.run();
        for (int address : addresses) {
            increase(address, VECTOR);
        }
        repeat(vectors, loop);
    }

    /** Subtracts one from the lower 32 bits of a register, and jumps back to {@code target} unless they are zero. */
    void repeat(int register, int target) {
        if (register > LOW_BITS) {
            int8(0x41);
        }
        int8(0xFF);
        modRm(DIRECT, 1, register);
        int8(0x0F);
        int8(0x85);
        int32(target - (position() + Integer.BYTES));
    }

    /** {@code register >>>= 32}. */
    void takeUpperHalf(int register) {
        rex(0, register);
        int8(0xC1);
        modRm(DIRECT, 5, register);
        int8(Integer.SIZE);
    }

    /** Returns from the function; its result is in RAX. */
    void ret() {
        zeroUpper();
        int8(0xC3);
    }
}
