package org.isobar.backend.cpu.generated;

/** Instructions on general registers and on the first lanes of vector registers. */
abstract class ScalarAssembler extends InstructionEncoder {
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

    ScalarAssembler(InstructionSet set) {
        super(set);
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

    /** {@code register += value}, 64 bits. */
    void increase(int register, long value) {
        rex(0, register);
        int8(0x81);
        modRm(DIRECT, 0, register);
        int32(Math.toIntExact(value));
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

    /** Jumps to the {@link #exit} unless the lower 32 bits of a register are {@code value}. */
    void leaveUnless(int register, int value) {
        if (register > LOW_BITS) {
            int8(0x41);
        }
        int8(0x81);
        modRm(DIRECT, 7, register);
        int32(value);
        int8(0x0F);
        int8(0x85);
        leave();
    }

    /** {@code register >>>= 32}. */
    void takeUpperHalf(int register) {
        rex(0, register);
        int8(0xC1);
        modRm(DIRECT, 5, register);
        int8(Integer.SIZE);
    }

    /** Loads 16 bytes, not necessarily aligned. */
    void loadPiece(int to, int base) {
        half(NO_PREFIX, 0x10, to, UNUSED, base);
        memory(to, base, 0);
    }

    /** Stores the first 16 bytes, not necessarily aligned. */
    void storePiece(int base, int from) {
        half(NO_PREFIX, 0x11, from, UNUSED, base);
        memory(from, base, 0);
    }

    /** Stores the first lane, a float. */
    void storeFloat(int base, long displacement, int from) {
        half(PREFIX_F3, 0x11, from, UNUSED, base);
        memory(from, base, displacement);
    }

    /** {@code to += memory}, the first lane, a double. */
    void addDouble(int to, int base, long displacement) {
        half(PREFIX_F2, 0x58, to, to, base);
        memory(to, base, displacement);
    }

    /** {@code to = x / y}, the first lane, a double. */
    void divideDouble(int to, int x, int y) {
        half(PREFIX_F2, 0x5E, to, x, y);
        modRm(DIRECT, to, y);
    }

    /** Rounds the first lane, a double, to a float. */
    void roundDouble(int to, int from) {
        half(PREFIX_F2, 0x5A, to, from, from);
        modRm(DIRECT, to, from);
    }

    /** Stores the first lane, a double. */
    void storeDouble(int base, long displacement, int from) {
        half(PREFIX_F2, 0x11, from, UNUSED, base);
        memory(from, base, displacement);
    }
}
