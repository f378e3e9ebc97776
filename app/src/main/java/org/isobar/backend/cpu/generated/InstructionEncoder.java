package org.isobar.backend.cpu.generated;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Bytes of instructions for x86-64, followed by the constants that they load. Instructions on vectors have a VEX prefix
 * in the {@linkplain InstructionSet#AVX2 set} of 256 bits and an EVEX prefix in that of 512 bits.
 */
abstract class InstructionEncoder {
    static final int MAP_0F = 1;
    static final int MAP_0F38 = 2;
    static final int MAP_0F3A = 3;
    static final int NO_PREFIX = 0;
    static final int PREFIX_66 = 1;
    static final int PREFIX_F3 = 2;
    static final int PREFIX_F2 = 3;
    /** The bit of the prefix that makes instructions for floats ones for doubles. */
    static final int WIDE = 0x80;
    /** Instructions with one source leave this field of the prefix at register 0. */
    static final int UNUSED = 0;
    static final int LOW_BITS = 7;
    static final int RIP_RELATIVE = 5;
    /** Encoding of a base register in a byte of its own, which RSP needs, and that byte for a base without index. */
    static final int WITH_SIB = 4;
    static final int BASE_ALONE = 0x24;
    static final int INDIRECT = 0;
    static final int WITH_DISPLACEMENT = 2;
    static final int DIRECT = 3;
    /** The EVEX prefix of 512 bits; a number in the lower bits selects a mask. */
    static final int ALL_512 = 0x40;
    /** The EVEX prefix of 256 bits. */
    static final int ALL_256 = 0x20;
    /** Lanes that are not set in the mask become zero. */
    static final int ZEROING = 0x80;

    final InstructionSet set;
    private final ByteArrayOutputStream code = new ByteArrayOutputStream();
    private final List<int[]> constants = new ArrayList<>();
    private final List<Reference> references = new ArrayList<>();
    private final List<Integer> leaves = new ArrayList<>();
    private int exit;

    InstructionEncoder(InstructionSet set) {
        this.set = set;
    }

    /** A vector behind the code. */
    record Constant(int index) { }

    /** A displacement in the code, to be set to the distance of a constant. */
    private record Reference(int position, Constant constant) { }

    /** Instructions with a result and two operands. */
    enum Operation {
        ADD(MAP_0F, NO_PREFIX, 0x58),
        SUBTRACT(MAP_0F, NO_PREFIX, 0x5C),
        MULTIPLY(MAP_0F, NO_PREFIX, 0x59),
        DIVIDE(MAP_0F, NO_PREFIX, 0x5E),
        /** {@code to += x * y}, rounded once. */
        ADD_PRODUCT(MAP_0F38, PREFIX_66, 0xB8),
        /** {@code to = to * x + y}, rounded once. */
        MULTIPLY_ADD(MAP_0F38, PREFIX_66, 0xA8),
        /** y where one of x and y is NaN, or both are zero. */
        MINIMUM(MAP_0F, NO_PREFIX, 0x5D),
        /** y where one of x and y is NaN, or both are zero. */
        MAXIMUM(MAP_0F, NO_PREFIX, 0x5F),
        AND(MAP_0F, NO_PREFIX, 0x54),
        OR(MAP_0F, NO_PREFIX, 0x56),
        XOR(MAP_0F, NO_PREFIX, 0x57),
        /** Interleaves the lower two lanes of each 128 bits of x and y. */
        UNPACK_LOW(MAP_0F, NO_PREFIX, 0x14),
        /** Interleaves the upper two lanes of each 128 bits of x and y. */
        UNPACK_HIGH(MAP_0F, NO_PREFIX, 0x15),
        /** {@code to += x * y} for the upper and for the lower BF16 number of each lane. */
        ADD_DOT_PRODUCT(MAP_0F38, PREFIX_F3, 0x52),
        SUBTRACT_DOUBLES(MAP_0F, PREFIX_66 | WIDE, 0x5C),
        /** {@code to += x * y} in doubles, rounded once. */
        ADD_PRODUCT_OF_DOUBLES(MAP_0F38, PREFIX_66 | WIDE, 0xB8);

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
        int start = Math.ceilDiv(position(), set.bytes) * set.bytes;
        ByteBuffer bytes = ByteBuffer.allocate(start + constants.size() * set.bytes).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(code.toByteArray());
        for (Reference reference : references) {
            int next = reference.position + Integer.BYTES;
            bytes.putInt(reference.position, start + reference.constant.index * set.bytes - next);
        }
        assert leaves.isEmpty() || exit > 0;
        for (int leave : leaves) {
            bytes.putInt(leave, exit - (leave + Integer.BYTES));
        }
        for (int i = 0; i < constants.size(); i++) {
            bytes.position(start + i * set.bytes);
            for (int lane : constants.get(i)) {
                bytes.putInt(lane);
            }
        }
        return bytes.array();
    }

    /** The last part of an instruction that jumps to the exit: its distance from the instruction's end. */
    final void leave() {
        leaves.add(position());
        int32(0);
    }

    /** Marks the next instruction as the one that the function's jumps to its exit lead to. */
    final void exit() {
        exit = position();
    }

    /** Adds a constant that has the same bits in all lanes. */
    Constant repeated(int bits) {
        int[] lanes = new int[set.lanes];
        Arrays.fill(lanes, bits);
        return constant(lanes);
    }

    /** Adds a constant that has the same number in all lanes. */
    Constant repeated(float number) {
        return repeated(Float.floatToRawIntBits(number));
    }

    /** Adds a constant that has the same double in all lanes. */
    Constant repeatedDouble(double number) {
        long bits = Double.doubleToRawLongBits(number);
        int[] lanes = new int[set.lanes];
        for (int lane = 0; lane < set.lanes; lane += 2) {
            lanes[lane] = (int) bits;
            lanes[lane + 1] = (int) (bits >>> Integer.SIZE);
        }
        return constant(lanes);
    }

    /** Adds a constant that has all bits in the first {@code count} lanes. */
    Constant first(int count) {
        int[] lanes = new int[set.lanes];
        Arrays.fill(lanes, 0, count, -1);
        return constant(lanes);
    }

    private Constant constant(int... lanes) {
        constants.add(lanes);
        return new Constant(constants.size() - 1);
    }

    final void int32(int value) {
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            int8(value >>> shift);
        }
    }

    final void int8(int value) {
        code.write(value);
    }

    /** The prefix and the opcode of an instruction on whole vectors. */
    final void vector(int map, int prefix, int opcode, int register, int source, int base) {
        if (set == InstructionSet.AVX512) {
            evex(map, prefix, opcode, register, source, base, ALL_512);
        } else {
            vex(map, opcode, register, base, (~source & 0xF) << 3 | 4 | prefix);
        }
    }

    final void vector(Operation operation, int register, int source, int base) {
        vector(operation.map, operation.prefix, operation.opcode, register, source, base);
    }

    /** The same for an instruction on the lower 128 bits or on general registers, of sixteen each. */
    final void half(int prefix, int opcode, int register, int source, int base) {
        vex(MAP_0F, opcode, register, base, (~source & 0xF) << 3 | prefix);
    }

    /** The VEX prefix of three bytes, which stores the upper bits of register numbers inverted. */
    private void vex(int map, int opcode, int register, int base, int last) {
        int8(0xC4);
        int8((register > LOW_BITS ? 0 : 0x80) | 0x40 | (base > LOW_BITS ? 0 : 0x20) | map);
        int8(last);
        int8(opcode);
    }

    /** The EVEX prefix, which has one more bit, also inverted, for the number of each vector register. */
    final void evex(int map, int prefix, int opcode, int register, int source, int base, int last) {
        int8(0x62);
        int8((~register & 8) << 4 | (~base & 0x10) << 2 | (~base & 8) << 2 | ~register & 0x10 | map);
        int8((~source & 0xF) << 3 | 4 | prefix);
        int8((~source & 0x10) >> 1 | last);
        int8(opcode);
    }

    final void memory(int register, int base, long displacement) {
        modRm(WITH_DISPLACEMENT, register, base);
        if ((base & LOW_BITS) == WITH_SIB) {
            int8(BASE_ALONE);
        }
        int32(Math.toIntExact(displacement));
    }

    /** The last part of an instruction: the distance of a constant counts from the instruction's end. */
    final void memory(int register, Constant constant) {
        modRm(INDIRECT, register, RIP_RELATIVE);
        references.add(new Reference(position(), constant));
        int32(0);
    }

    final void modRm(int mode, int register, int operand) {
        int8(mode << 6 | (register & LOW_BITS) << 3 | operand & LOW_BITS);
    }

    /** An instruction of 64 bits on two general registers. */
    final void apply64(int opcode, int to, int from) {
        rex(from, to);
        int8(opcode);
        modRm(DIRECT, from, to);
    }

    /** The prefix of instructions of 64 bits, with the upper bits of register numbers. */
    final void rex(int register, int base) {
        int8(0x48 | (register > LOW_BITS ? 4 : 0) | (base > LOW_BITS ? 1 : 0));
    }
}
