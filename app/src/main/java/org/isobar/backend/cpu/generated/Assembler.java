package org.isobar.backend.cpu.generated;

import org.isobar.tensor.DType;

/**
 * Encodes the few instructions of which the kernels consist, for x86-64 in 64-bit mode (Intel, "Software Developer's
 * Manual", volume 2). Vector registers have floats or integers of 32 bits, or half as many doubles, and are numbered
 * from 0. Memory operands are a base register plus a displacement in bytes, or a {@link Constant}. All instructions
 * exist in both sets, except where they say so.
 */
final class Assembler extends ScalarAssembler {
    private static final int LESS = 0x11;
    /** The mask register of instructions that need one only for themselves. */
    private static final int OWN_MASK = 7;

    Assembler(InstructionSet set) {
        super(set);
    }

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, int y) {
        vector(operation, to, x, y);
        modRm(DIRECT, to, y);
    }

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, Constant y) {
        vector(operation, to, x, 0);
        memory(to, y);
    }

    /** {@code to = x operation y}, where y is in memory, not necessarily aligned. */
    void apply(Operation operation, int to, int x, int base, long displacement) {
        vector(operation, to, x, base);
        memory(to, base, displacement);
    }

    /** {@code to = from}. */
    void copyVector(int to, int from) {
        vector(MAP_0F, NO_PREFIX, 0x28, to, UNUSED, from);
        modRm(DIRECT, to, from);
    }

    /** {@code to = memory}, not necessarily aligned. */
    void load(int to, int base, long displacement) {
        vector(MAP_0F, NO_PREFIX, 0x10, to, UNUSED, base);
        memory(to, base, displacement);
    }

    void load(int to, Constant constant) {
        vector(MAP_0F, NO_PREFIX, 0x10, to, UNUSED, 0);
        memory(to, constant);
    }

    /** {@code memory = from}, not necessarily aligned. */
    void store(int base, long displacement, int from) {
        vector(MAP_0F, NO_PREFIX, 0x11, from, UNUSED, base);
        memory(from, base, displacement);
    }

    /**
     * Returns the number of a mask: that of a vector register, whose sign bits select lanes, or of a register of masks.
     *
     * @param vector  a vector register that the mask may occupy
     * @param number  a register of masks that it may occupy, from 1 on
     */
    int mask(int vector, int number) {
        return set == InstructionSet.AVX512 ? number : vector;
    }

    /** Makes a mask of the first {@code count} lanes. Changes RAX. */
    void setMask(int mask, int count) {
        if (set == InstructionSet.AVX512) {
            move(RAX, (1 << count) - 1);
            half(NO_PREFIX, 0x92, mask, UNUSED, RAX); // kmovw
            modRm(DIRECT, mask, RAX);
        } else {
            load(mask, first(count));
        }
    }

    /** Loads the lanes that are set in {@code mask}; the others become zero and are not accessed. */
    void load(int to, int mask, int base, long displacement) {
        if (set == InstructionSet.AVX512) {
            evex(MAP_0F, NO_PREFIX, 0x10, to, UNUSED, base, ALL_512 | ZEROING | mask);
        } else {
            vector(MAP_0F38, PREFIX_66, 0x2C, to, mask, base);
        }
        memory(to, base, displacement);
    }

    /** Stores the lanes that are set in {@code mask}; the others are not accessed. */
    void store(int base, long displacement, int mask, int from) {
        if (set == InstructionSet.AVX512) {
            evex(MAP_0F, NO_PREFIX, 0x11, from, UNUSED, base, ALL_512 | mask);
        } else {
            vector(MAP_0F38, PREFIX_66, 0x2E, from, mask, base);
        }
        memory(from, base, displacement);
    }

    /**
     * Loads BF16 numbers as floats. For 512 bits.
     *
     * @param mask selects the lanes that are loaded, the others become zero and are not accessed; 0 for all
     */
    void loadHalves(int to, int mask, int base, long displacement) {
        loadIntegers(to, mask, base, displacement);
        shiftLeft(to, to, Short.SIZE);
    }

    /** Loads integers of 16 bits, which are in the lower half of the lanes then. For 512 bits. */
    void loadIntegers(int to, int mask, int base, long displacement) {
        evex(MAP_0F38, PREFIX_66, 0x33, to, UNUSED, base, ALL_512 | mask | (mask == 0 ? 0 : ZEROING)); // vpmovzxwd
        memory(to, base, displacement);
    }

    /** Stores floats as BF16 numbers, rounded to nearest, ties to even. Changes {@code from}. For 512 bits. */
    void storeHalves(int base, long displacement, int mask, int from) {
        evex(MAP_0F38, PREFIX_F3, 0x72, from, UNUSED, from, ALL_512); // vcvtneps2bf16
        modRm(DIRECT, from, from);
        evex(MAP_0F, PREFIX_F2 | WIDE, 0x7F, from, UNUSED, base, ALL_256 | mask); // vmovdqu16
        memory(from, base, displacement);
    }

    /** Stores floats as numbers of a type, and moves the address behind them. Rounding changes {@code from}. */
    void storeNext(DType dtype, int address, int from) {
        if (dtype == DType.BF16) {
            storeHalves(address, 0, 0, from);
        } else {
            store(address, 0, from);
        }
        increase(address, (long) set.lanes * dtype.bytes());
    }

    /** Sets all lanes to the float in memory. */
    void broadcast(int to, int base, long displacement) {
        vector(MAP_0F38, PREFIX_66, 0x18, to, UNUSED, base);
        memory(to, base, displacement);
    }

    /** Sets all lanes to the lower 32 bits of a general register. */
    void broadcastBits(int to, int from) {
        half(PREFIX_66, 0x6E, to, UNUSED, from); // vmovd
        modRm(DIRECT, to, from);
        vector(MAP_0F38, PREFIX_66, 0x18, to, UNUSED, to);
        modRm(DIRECT, to, to);
    }

    /** {@code to = 0}. */
    void zero(int to) {
        apply(Operation.XOR, to, to, to);
    }

    /** {@code to = from << bits}, for integers. */
    void shiftLeft(int to, int from, int bits) {
        vector(MAP_0F, PREFIX_66, 0x72, 6, to, from);
        modRm(DIRECT, 6, from);
        int8(bits);
    }

    /** The square root of each lane. */
    void squareRoot(int to, int from) {
        vector(MAP_0F, NO_PREFIX, 0x51, to, UNUSED, from);
        modRm(DIRECT, to, from);
    }

    /** Loads half a vector of floats as doubles. */
    void loadDoubles(int to, int base, long displacement) {
        vector(MAP_0F, NO_PREFIX, 0x5A, to, UNUSED, base);
        memory(to, base, displacement);
    }

    /**
     * The lanes of y where a is less than b, and those of x elsewhere. A lane that is NaN is not less.
     *
     * @param spare a register that may change
     */
    void selectLess(int to, int x, int y, int a, int b, int spare) {
        int mask = mask(spare, OWN_MASK);
        less(mask, a, b, 0);
        if (set == InstructionSet.AVX512) {
            evex(MAP_0F38, PREFIX_66, 0x65, to, x, y, ALL_512 | mask); // vblendmps
            modRm(DIRECT, to, y);
        } else {
            vector(MAP_0F3A, PREFIX_66, 0x4A, to, x, y); // vblendvps
            modRm(DIRECT, to, y);
            int8(mask << 4);
        }
    }

    /** Compares the lanes, of {@code within} if it is not zero and the set is that of 512 bits. */
    private void less(int mask, int a, int b, int within) {
        if (set == InstructionSet.AVX512) {
            evex(MAP_0F, NO_PREFIX, 0xC2, mask, a, b, ALL_512 | within); // vcmpps
        } else {
            vector(MAP_0F, NO_PREFIX, 0xC2, mask, a, b);
        }
        modRm(DIRECT, mask, b);
        int8(LESS);
    }

    /**
     * Sets a bit of a general register for each lane in which x has none of the given bits and y is less than the
     * limit, and its other bits to zero. Changes x and y.
     *
     * @param spare a register that may change
     */
    void test(int to, int x, Constant bits, int y, Constant limit, int spare) {
        if (set == InstructionSet.AVX512) {
            evex(MAP_0F38, PREFIX_F3, 0x27, OWN_MASK, x, 0, ALL_512); // vptestnmd
            memory(OWN_MASK, bits);
            load(spare, limit);
            less(OWN_MASK, y, spare, OWN_MASK);
            half(NO_PREFIX, 0x93, to, UNUSED, OWN_MASK); // kmovw
            modRm(DIRECT, to, OWN_MASK);
        } else {
            apply(Operation.AND, x, x, bits);
            zero(spare);
            vector(MAP_0F, PREFIX_66, 0x76, x, x, spare); // vpcmpeqd
            modRm(DIRECT, x, spare);
            load(spare, limit);
            less(y, y, spare, 0);
            apply(Operation.AND, y, y, x);
            vector(MAP_0F, NO_PREFIX, 0x50, to, UNUSED, y); // vmovmskps
            modRm(DIRECT, to, y);
        }
    }

    /**
     * Sets all lanes to the sum or other reduction of the lanes, in the order of {@link
     * org.isobar.backend.cpu.vector.Lanes#sum}.
     *
     * @param spare a register that may change
     */
    void reduce(Operation operation, int vector, int spare) {
        if (set == InstructionSet.AVX512) {
            permuteQuarters(spare, vector, vector, 0x4E);
            apply(operation, vector, vector, spare);
            permuteQuarters(spare, vector, vector, 0xB1);
        } else {
            permuteHalves(spare, vector, vector, 0x01);
        }
        apply(operation, vector, vector, spare);
        shuffle(spare, vector, vector, 0x4E);
        apply(operation, vector, vector, spare);
        shuffle(spare, vector, vector, 0xB1);
        apply(operation, vector, vector, spare);
    }

    /** Sets a general register to the bits of the first lane, a double. */
    void firstDoubleBits(int to, int from) {
        half(PREFIX_66 | WIDE, 0x7E, from, UNUSED, to); // vmovq
        modRm(DIRECT, from, to);
    }

    /** In each 128 bits, two lanes of x followed by two of y, selected by two bits each. */
    void shuffle(int to, int x, int y, int lanes) {
        vector(MAP_0F, NO_PREFIX, 0xC6, to, x, y);
        modRm(DIRECT, to, y);
        int8(lanes);
    }

    /** Joins two halves of x and y, selected by the lower two bits of each half byte. For 256 bits. */
    void permuteHalves(int to, int x, int y, int halves) {
        vector(MAP_0F3A, PREFIX_66, 0x06, to, x, y);
        modRm(DIRECT, to, y);
        int8(halves);
    }

    /** Joins two quarters of x and two of y, selected by two bits each. For 512 bits. */
    private void permuteQuarters(int to, int x, int y, int quarters) {
        vector(MAP_0F3A, PREFIX_66, 0x23, to, x, y);
        modRm(DIRECT, to, y);
        int8(quarters);
    }

    /** Ends the use of the upper parts of registers, which would slow down code for SSE. */
    private void zeroUpper() {
        int8(0xC5);
        int8(0xF8);
        int8(0x77);
    }

    /** Multiplies a register by the size of a vector in bytes. */
    void timesVector(int register) {
        rex(0, register);
        int8(0xC1);
        modRm(DIRECT, 4, register);
        int8(Integer.numberOfTrailingZeros(set.bytes));
    }

    /**
     * Emits a loop that runs {@code code} once per vector. The register {@code vectors} holds their number, at least
     * one. After each, the addresses increase by a vector.
     */
    void forEachVector(int vectors, Runnable code, int... addresses) {
        forEachGroup(vectors, 1, code, addresses);
    }

    /** Does the same once per group of {@code size} vectors. */
    void forEachGroup(int groups, int size, Runnable code, int... addresses) {
        int loop = position();
        code.run();
        for (int address : addresses) {
            increase(address, (long) size * set.bytes);
        }
        repeat(groups, loop);
    }

    /** Returns from the function; its result is in RAX. */
    void ret() {
        zeroUpper();
        int8(0xC3);
    }
}
