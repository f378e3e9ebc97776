package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Constant;
import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.PowerPolynomial;
import org.isobar.backend.cpu.vector.VectorMath;

/**
 * Machine code of GELU and its derivative, with the bits of {@code VectorGelu}, whose methods and those of {@link
 * VectorMath} give the formulas. Most instructions of a vector need the result of the one before, and a processor does
 * not look far enough ahead to begin with the next vector meanwhile. So two vectors are computed together, each
 * instruction for one and then for the other.
 */
public final class GeluCode {
    private static final int GROUP = 2;
    private static final MachineCode FORWARD = GeneratedCode.loop(GeluCode::forward);
    private static final MachineCode BACKWARD = GeneratedCode.loop(GeluCode::backward);

    // General registers: the arguments.
    private static final int Y = Assembler.RDI;
    private static final int X = Assembler.RSI;
    private static final int GROUPS = Assembler.RDX;
    private static final int DX = Assembler.RCX;
    private static final int DY = Assembler.R8;

    // Vector registers of the first vector.
    private static final int A = 0;
    private static final int POWER = 1;
    private static final int Q = 2;
    private static final int REMAINDER = 3;
    private static final int TAIL = 4;
    private static final int EXCESS = 5;
    private static final int SPARE = 6;
    /** Number of these registers. Those of the second vector follow. */
    private static final int OWN = 7;
    private static final int ZERO = GROUP * OWN;

    private GeluCode() { }

    /**
     * Computes {@code y = GELU(x)} of the whole pairs of vectors of x. {@code y} may be {@code x}.
     *
     * @return the number of elements that were computed
     */
    public static int forward(MemorySegment y, MemorySegment x) {
        int groups = GeneratedCode.vectors(x, y) / GROUP;
        if (groups > 0) {
            FORWARD.run(y.address(), x.address(), groups, 0);
        }
        return groups * GROUP * Lanes.WIDTH;
    }

    /**
     * Computes {@code dx = dy GELU'(x)} and {@code y = GELU(x)} of the whole pairs of vectors of x. The results may
     * overwrite dy and x.
     *
     * @return the number of elements that were computed
     */
    public static int backward(MemorySegment dx, MemorySegment y, MemorySegment dy, MemorySegment x) {
        int groups = GeneratedCode.vectors(x, y, dx, dy) / GROUP;
        if (groups > 0) {
            BACKWARD.run(y.address(), x.address(), groups, dx.address(), dy.address(), 0);
        }
        return groups * GROUP * Lanes.WIDTH;
    }

    private static void forward(Assembler to) {
        to.zero(ZERO);
        Formula formula = new Formula(to);
        to.forEachGroup(GROUPS, GROUP, () -> {
            formula.tail();
            formula.gelu();
            formula.store(Y, A);
        }, X, Y);
    }

    private static void backward(Assembler to) {
        to.zero(ZERO);
        Formula formula = new Formula(to);
        to.forEachGroup(GROUPS, GROUP, () -> {
            formula.tail();
            formula.gradient();
            formula.gelu();
            formula.store(Y, A);
            formula.store(DX, EXCESS);
        }, X, Y, DX, DY);
    }

    /** Code for the vectors of a group. */
    private static final class Formula {
        private final Assembler to;
        private final Constant sign;
        private final Constant ends;
        private final Constant power;
        private final Constant shift;

        Formula(Assembler to) {
            this.to = to;
            sign = to.repeated(VectorMath.SIGN);
            ends = to.repeated(VectorMath.TAIL_ENDS);
            power = to.repeated(VectorMath.ROUND_TO_POWER);
            shift = to.repeated(VectorMath.TAIL_SHIFT);
        }

        /** Code for one vector, whose registers are the first vector's plus {@code own}. */
        private interface Instruction {
            void emit(int own, long displacement);
        }

        private void each(Instruction instruction) {
            for (int vector = 0; vector < GROUP; vector++) {
                instruction.emit(vector * OWN, vector * (long) Lanes.F32.vectorByteSize());
            }
        }

        private void each(Operation operation, int register, int x, int y) {
            each((own, _) -> to.apply(operation, own + register, own + x, own + y));
        }

        private void each(Operation operation, int register, int x, Constant y) {
            each((own, _) -> to.apply(operation, own + register, own + x, y));
        }

        private void eachWith(Operation operation, int register, int x, float y) {
            each(operation, register, x, to.repeated(y));
        }

        private void load(int register, Constant constant) {
            each((own, _) -> to.load(own + register, constant));
        }

        private void load(int register, float number) {
            load(register, to.repeated(number));
        }

        /** Computes the tail of x, and A, POWER and EXCESS. */
        void tail() {
            each((own, displacement) -> to.load(own + A, X, displacement));
            each(Operation.OR, A, A, sign);
            load(SPARE, ends);
            each(Operation.MAXIMUM, A, SPARE, A); // NaN remains NaN
            each(Operation.MULTIPLY, POWER, A, A);
            load(SPARE, VectorMath.LOG2_E / -2);
            each(Operation.MULTIPLY_ADD, POWER, SPARE, power);
            quotient();
            excess();
            polynomial();
            each(Operation.MULTIPLY, TAIL, TAIL, POWER);
        }

        /** Computes Q and REMAINDER from A. */
        private void quotient() {
            each(Operation.SUBTRACT, REMAINDER, A, shift);
            load(Q, -2);
            each(Operation.DIVIDE, Q, Q, REMAINDER);
            each(Operation.ADD, SPARE, REMAINDER, shift);
            each(Operation.SUBTRACT, SPARE, A, SPARE);
            eachWith(Operation.MULTIPLY_ADD, REMAINDER, Q, 2f);
            each(Operation.ADD_PRODUCT, REMAINDER, Q, SPARE);
        }

        /** Computes EXCESS from A, the exponent in POWER, and REMAINDER; and the power from the exponent. */
        private void excess() {
            int r = TAIL;
            each(Operation.SUBTRACT, SPARE, POWER, power);
            each((own, _) -> to.shiftLeft(own + POWER, own + POWER, PowerPolynomial.MANTISSA_BITS));
            eachWith(Operation.MULTIPLY, r, SPARE, 2 * VectorMath.LN2_UPPER);
            each(Operation.ADD_PRODUCT, r, A, A);
            load(EXCESS, -2 * VectorMath.LN2_LOWER);
            each(Operation.MULTIPLY_ADD, SPARE, EXCESS, REMAINDER);
            each(Operation.SUBTRACT, r, r, SPARE);
            load(EXCESS, VectorMath.EXP_6 / 64);
            horner(EXCESS, r, VectorMath.EXP_5 / -32, VectorMath.EXP_4 / 16, VectorMath.EXP_3 / -8,
                VectorMath.EXP_2 / 4);
            each(Operation.MULTIPLY, EXCESS, EXCESS, r);
            eachWith(Operation.MULTIPLY, SPARE, r, -0.5f);
            each(Operation.MULTIPLY_ADD, EXCESS, r, SPARE);
        }

        /** Computes TAIL, without the power, from Q, REMAINDER and EXCESS. */
        private void polynomial() {
            int u = SPARE;
            load(u, 2);
            eachWith(Operation.MULTIPLY_ADD, u, Q, -VectorMath.TAIL_CENTRE);
            each(Operation.ADD_PRODUCT, u, Q, REMAINDER);
            load(TAIL, VectorMath.TAIL_10);
            horner(TAIL, u, VectorMath.TAIL_9, VectorMath.TAIL_8, VectorMath.TAIL_7, VectorMath.TAIL_6,
                VectorMath.TAIL_5, VectorMath.TAIL_4, VectorMath.TAIL_3, VectorMath.TAIL_2, VectorMath.TAIL_1,
                VectorMath.TAIL_0);
            eachWith(Operation.ADD, SPARE, TAIL, 1f);
            each(Operation.ADD_PRODUCT, TAIL, EXCESS, SPARE);
            each(Operation.MULTIPLY_ADD, TAIL, Q, Q);
        }

        /** Multiplies by x and adds a coefficient, for each coefficient. */
        private void horner(int sum, int x, float... coefficients) {
            for (float coefficient : coefficients) {
                eachWith(Operation.MULTIPLY_ADD, sum, x, coefficient);
            }
        }

        /** Computes the gradient, in EXCESS, from TAIL, POWER and EXCESS. */
        void gradient() {
            int value = REMAINDER;
            each((own, displacement) -> to.load(own + value, X, displacement));
            load(Q, 1);
            each(Operation.SUBTRACT, Q, Q, TAIL);
            each((own, _) -> to.selectLess(own + Q, own + Q, own + TAIL, own + value, ZERO, own + SPARE));
            load(SPARE, VectorMath.FOUR_DENSITIES_AT_0);
            each(Operation.MULTIPLY_ADD, EXCESS, SPARE, SPARE);
            each(Operation.MULTIPLY, EXCESS, EXCESS, POWER);
            each(Operation.MULTIPLY_ADD, EXCESS, value, Q);
            each((own, displacement) -> to.load(own + SPARE, DY, displacement));
            each(Operation.MULTIPLY, EXCESS, SPARE, EXCESS);
        }

        /** Computes the GELU of x, in A, from A and TAIL. */
        void gelu() {
            each((own, displacement) -> to.load(own + SPARE, X, displacement));
            each((own, _) -> to.apply(Operation.MAXIMUM, own + SPARE, ZERO, own + SPARE)); // NaN remains NaN
            each(Operation.MULTIPLY_ADD, A, TAIL, SPARE);
        }

        void store(int address, int register) {
            each((own, displacement) -> to.store(address, displacement, own + register));
        }
    }
}
