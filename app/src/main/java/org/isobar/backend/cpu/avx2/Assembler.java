package org.isobar.backend.cpu.avx2;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes the few instructions of which the kernels consist, for x86-64 in 64-bit mode (Intel, "Software Developer's
 * Manual", volume 2; vector instructions of 256 bits, in the form with a VEX prefix). Vector registers, of eight floats
 * or integers of 32 bits, are numbered 0 to 15. Memory operands are a base register plus a displacement in bytes, or a
 * {@link Constant}.
 */
final class Assembler {
    // General registers that a function of the System V ABI may change; the arguments are in these, from the first on:
    // RDI, RSI, RDX, RCX, R8 and R9.
    static final int RAX = 0;
    static final int RCX = 1;
    static final int RDX = 2;
    static final int RSI = 6;
    static final int RDI = 7;
    static final int R8 = 8;
    static final int R9 = 9;
    static final int R10 = 10;
    static final int R11 = 11;

    /** Lanes of a vector. */
    static final int LANES = 8;
    /** Bytes of a vector. */
    static final int VECTOR = LANES * Float.BYTES;

    private static final int MAP_0F = 1;
    private static final int MAP_0F38 = 2;
    private static final int MAP_0F3A = 3;
    private static final int NO_PREFIX = 0;
    private static final int PREFIX_66 = 1;
    /** Instructions with one source leave this field of the VEX prefix at register 0. */
    private static final int UNUSED = 0;
    private static final int LOW_BITS = 7;
    private static final int RIP_RELATIVE = 5;
    private static final int INDIRECT = 0;
    private static final int WITH_DISPLACEMENT = 2;
    private static final int DIRECT = 3;

    private final ByteArrayOutputStream code = new ByteArrayOutputStream();
    private final List<int[]> constants = new ArrayList<>();
    private final List<Reference> references = new ArrayList<>();

    /** A vector behind the code. */
    record Constant(int index) { }

    /** A displacement in the code, to be set to the distance of a constant. */
    private record Reference(int position, Constant constant) { }

    /** Instructions with a result and two operands. */
    enum Operation {
        ADD(MAP_0F, NO_PREFIX, 0x58),
        SUBTRACT(MAP_0F, NO_PREFIX, 0x5C),
        MULTIPLY(MAP_0F, NO_PREFIX, 0x59),
        /** {@code to += x * y}, rounded once. */
        ADD_PRODUCT(MAP_0F38, PREFIX_66, 0xB8),
        /** {@code to = to * x + y}, rounded once. */
        MULTIPLY_ADD(MAP_0F38, PREFIX_66, 0xA8),
        /** y where one of x and y is NaN. */
        MINIMUM(MAP_0F, NO_PREFIX, 0x5D),
        /** y where one of x and y is NaN. */
        MAXIMUM(MAP_0F, NO_PREFIX, 0x5F),
        AND(MAP_0F, NO_PREFIX, 0x54),
        OR(MAP_0F, NO_PREFIX, 0x56),
        XOR(MAP_0F, NO_PREFIX, 0x57),
        /** All bits of the lanes whose integers are equal. */
        EQUAL_INTEGERS(MAP_0F, PREFIX_66, 0x76),
        /** Interleaves the lower two lanes of each half of x and y. */
        UNPACK_LOW(MAP_0F, NO_PREFIX, 0x14),
        /** Interleaves the upper two lanes of each half of x and y. */
        UNPACK_HIGH(MAP_0F, NO_PREFIX, 0x15);

        private final int map;
        private final int prefix;
        private final int opcode;

        Operation(int map, int prefix, int opcode) {
            this.map = map;
            this.prefix = prefix;
            this.opcode = opcode;
        }
    }

    /** Position of the next instruction, in bytes. */
    int position() {
        return code.size();
    }

    /** Returns the code, followed by its constants. */
    byte[] bytes() {
        int start = Math.ceilDiv(position(), VECTOR) * VECTOR;
        ByteBuffer bytes = ByteBuffer.allocate(start + constants.size() * VECTOR).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(code.toByteArray());
        for (Reference reference : references) {
            int next = reference.position + Integer.BYTES;
            bytes.putInt(reference.position, start + reference.constant.index * VECTOR - next);
        }
        for (int i = 0; i < constants.size(); i++) {
            bytes.position(start + i * VECTOR);
            for (int lane : constants.get(i)) {
                bytes.putInt(lane);
            }
        }
        return bytes.array();
    }

    /** Adds a constant with the given bits in each lane. */
    Constant constant(int... lanes) {
        assert lanes.length == LANES : lanes.length + " lanes";
        constants.add(lanes);
        return new Constant(constants.size() - 1);
    }

    /** Adds a constant that has the same bits in all lanes. */
    Constant repeated(int bits) {
        return constant(bits, bits, bits, bits, bits, bits, bits, bits);
    }

    /** Adds a constant that has the same number in all lanes. */
    Constant repeated(float number) {
        return repeated(Float.floatToRawIntBits(number));
    }

    /** Adds a mask of the first {@code count} lanes, for masked loads and stores. */
    Constant first(int count) {
        int[] lanes = new int[LANES];
        for (int lane = 0; lane < count; lane++) {
            lanes[lane] = -1;
        }
        return constant(lanes);
    }

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, int y) {
        vex(operation.map, operation.prefix, operation.opcode, to, x, y);
        modRm(DIRECT, to, y);
    }

    /** {@code to = x operation y}. */
    void apply(Operation operation, int to, int x, Constant y) {
        vex(operation.map, operation.prefix, operation.opcode, to, x, 0);
        memory(to, y);
    }

    /** {@code to = x operation y}, where y is in memory, not necessarily aligned. */
    void apply(Operation operation, int to, int x, int base, long displacement) {
        vex(operation.map, operation.prefix, operation.opcode, to, x, base);
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
        int8(0xC4); // vmovd
        int8((to > LOW_BITS ? 0 : 0x80) | 0x40 | (from > LOW_BITS ? 0 : 0x20) | MAP_0F);
        int8(0x78 | PREFIX_66);
        int8(0x6E);
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

    /** Sets all bits of the lanes where x is less than y; NaN is not. */
    void less(int to, int x, int y) {
        vex(MAP_0F, NO_PREFIX, 0xC2, to, x, y);
        modRm(DIRECT, to, y);
        int8(0x11);
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
        int8(0x48 | (from > LOW_BITS ? 4 : 0) | (to > LOW_BITS ? 1 : 0));
        int8(0x89);
        modRm(DIRECT, from, to);
    }

    /** {@code register += value}, 64 bits. */
    void increase(int register, long value) {
        int8(0x48 | (register > LOW_BITS ? 1 : 0));
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

    /** {@code register >>>= 32}. */
    void takeUpperHalf(int register) {
        int8(0x48 | (register > LOW_BITS ? 1 : 0));
        int8(0xC1);
        modRm(DIRECT, 5, register);
        int8(Integer.SIZE);
    }

    /** Returns from the function; its result is in RAX. */
    void ret() {
        zeroUpper();
        int8(0xC3);
    }

    private void int32(int value) {
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            int8(value >>> shift);
        }
    }

    private void int8(int value) {
        code.write(value);
    }

    /** The VEX prefix of three bytes, which stores the upper bits of register numbers inverted, and the opcode. */
    private void vex(int map, int prefix, int opcode, int register, int source, int base) {
        int8(0xC4);
        int8((register > LOW_BITS ? 0 : 0x80) | 0x40 | (base > LOW_BITS ? 0 : 0x20) | map);
        int8((~source & 0xF) << 3 | 4 | prefix);
        int8(opcode);
    }

    private void memory(int register, int base, long displacement) {
        assert (base & LOW_BITS) != 4 : "register " + base + " needs another encoding";
        modRm(WITH_DISPLACEMENT, register, base);
        int32(Math.toIntExact(displacement));
    }

    /** The last part of an instruction: the distance of a constant counts from the instruction's end. */
    private void memory(int register, Constant constant) {
        modRm(INDIRECT, register, RIP_RELATIVE);
        references.add(new Reference(position(), constant));
        int32(0);
    }

    private void modRm(int mode, int register, int operand) {
        int8(mode << 6 | (register & LOW_BITS) << 3 | operand & LOW_BITS);
    }
}
