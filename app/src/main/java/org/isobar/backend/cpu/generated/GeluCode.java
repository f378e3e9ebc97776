package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Constant;
import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.VectorMath;

/**
 * Machine code of GELU and its derivative, with the bits of {@code VectorGelu}, whose methods and those of {@link
 * VectorMath} give the formulas.
 */
public final class GeluCode {
    private static final MachineCode FORWARD = GeneratedCode.loop(GeluCode::forward);
    private static final MachineCode BACKWARD = GeneratedCode.loop(GeluCode::backward);

    // General registers: the arguments.
    private static final int Y = Assembler.RDI;
    private static final int X = Assembler.RSI;
    private static final int VECTORS = Assembler.RDX;
    private static final int DX = Assembler.RCX;
    private static final int DY = Assembler.R8;

    // Vector registers.
    private static final int VALUE = 0;
    private static final int A = 1;
    private static final int EXPONENT = 2;
    private static final int POWER = 3;
    private static final int Q = 4;
    private static final int DIVISOR = 5;
    private static final int REMAINDER = 6;
    private static final int R = 7;
    private static final int EXCESS = 8;
    private static final int U = 9;
    private static final int TAIL = 10;
    private static final int SPARE = 11;
    private static final int MASK = 12;
    private static final int ZERO = 13;
    private static final int ONE = 14;
    private static final int PEAK = 15;

    private GeluCode() { }

    /**
     * Computes {@code y = GELU(x)} of the whole vectors of x. {@code y} may be {@code x}.
     *
     * @return the number of elements that were computed
     */
    public static int forward(MemorySegment y, MemorySegment x) {
        int vectors = GeneratedCode.vectors(x, y);
        if (vectors > 0) {
            FORWARD.run(y.address(), x.address(), vectors, 0);
        }
        return vectors * Lanes.WIDTH;
    }

    /**
     * Computes {@code dx = dy GELU'(x)} and {@code y = GELU(x)} of the whole vectors of x. The results may overwrite dy
     * and x.
     *
     * @return the number of elements that were computed
     */
    public static int backward(MemorySegment dx, MemorySegment y, MemorySegment dy, MemorySegment x) {
        int vectors = GeneratedCode.vectors(x, y, dx, dy);
        if (vectors > 0) {
            BACKWARD.run(y.address(), x.address(), vectors, dx.address(), dy.address(), 0);
        }
        return vectors * Lanes.WIDTH;
    }

    private static void forward(Assembler to) {
        Formula formula = new Formula(to);
        to.forEachVector(VECTORS, () -> {
            to.load(VALUE, X, 0);
            formula.tail();
            formula.gelu();
        }, X, Y);
    }

    private static void backward(Assembler to) {
        Formula formula = new Formula(to);
        to.load(ONE, to.repeated(1f));
        to.load(PEAK, to.repeated(VectorMath.FOUR_DENSITIES_AT_0));
        to.forEachVector(VECTORS, () -> {
            to.load(VALUE, X, 0);
            formula.tail();
            to.apply(Operation.SUBTRACT, SPARE, ONE, TAIL);
            to.selectLess(SPARE, SPARE, TAIL, VALUE, ZERO, MASK);
            to.apply(Operation.MULTIPLY_ADD, EXCESS, PEAK, PEAK);
            to.apply(Operation.MULTIPLY, EXCESS, EXCESS, POWER);
            to.apply(Operation.MULTIPLY_ADD, EXCESS, VALUE, SPARE);
            to.load(SPARE, DY, 0);
            formula.gelu();
            to.apply(Operation.MULTIPLY, SPARE, SPARE, EXCESS);
            to.store(DX, 0, SPARE);
        }, X, Y, DX, DY);
    }

    /** Code for one vector. */
    private static final class Formula {
        private final Assembler to;
        private final Constant sign;
        private final Constant ends;
        private final Constant power;
        private final Constant two;

        Formula(Assembler to) {
            this.to = to;
            sign = to.repeated(VectorMath.SIGN);
            ends = to.repeated(VectorMath.TAIL_ENDS);
            power = to.repeated(VectorMath.ROUND_TO_POWER);
            two = to.repeated(2f);
            to.zero(ZERO);
        }

        /** Computes the tail of VALUE, and POWER and EXCESS. */
        void tail() {
            to.apply(Operation.OR, A, VALUE, sign);
            to.load(SPARE, ends);
            to.apply(Operation.MAXIMUM, A, SPARE, A); // NaN remains NaN
            to.apply(Operation.MULTIPLY, EXPONENT, A, A);
            to.load(SPARE, to.repeated(VectorMath.LOG2_E / -2));
            to.apply(Operation.MULTIPLY_ADD, EXPONENT, SPARE, power);
            to.shiftLeft(POWER, EXPONENT, VectorMath.MANTISSA_BITS);
            quotient();
            excess();
            polynomial();
            to.apply(Operation.MULTIPLY, TAIL, TAIL, POWER);
        }

        /** Stores the GELU of VALUE. */
        void gelu() {
            to.apply(Operation.MAXIMUM, VALUE, ZERO, VALUE); // NaN remains NaN
            to.apply(Operation.MULTIPLY_ADD, A, TAIL, VALUE);
            to.store(Y, 0, A);
        }

        /** Computes Q and REMAINDER from A. */
        private void quotient() {
            Constant shift = to.repeated(VectorMath.TAIL_SHIFT);
            to.apply(Operation.SUBTRACT, DIVISOR, A, shift);
            to.load(Q, to.repeated(-2f));
            to.apply(Operation.DIVIDE, Q, Q, DIVISOR);
            to.apply(Operation.ADD, SPARE, DIVISOR, shift);
            to.apply(Operation.SUBTRACT, SPARE, A, SPARE);
            to.apply(Operation.MULTIPLY_ADD, DIVISOR, Q, two);
            to.copyVector(REMAINDER, DIVISOR);
            to.apply(Operation.ADD_PRODUCT, REMAINDER, Q, SPARE);
        }

        /** Computes EXCESS from A, EXPONENT and REMAINDER. */
        private void excess() {
            to.apply(Operation.SUBTRACT, U, EXPONENT, power);
            to.apply(Operation.MULTIPLY, R, U, to.repeated(2 * VectorMath.LN2_UPPER));
            to.apply(Operation.ADD_PRODUCT, R, A, A);
            to.load(SPARE, to.repeated(-2 * VectorMath.LN2_LOWER));
            to.apply(Operation.MULTIPLY_ADD, U, SPARE, REMAINDER);
            to.apply(Operation.SUBTRACT, R, R, U);
            to.load(EXCESS, to.repeated(VectorMath.EXP_6 / 64));
            horner(EXCESS, R, VectorMath.EXP_5 / -32, VectorMath.EXP_4 / 16, VectorMath.EXP_3 / -8,
                VectorMath.EXP_2 / 4);
            to.apply(Operation.MULTIPLY, EXCESS, EXCESS, R);
            to.apply(Operation.MULTIPLY, U, R, to.repeated(-0.5f));
            to.apply(Operation.MULTIPLY_ADD, EXCESS, R, U);
        }

        /** Computes TAIL, without the power, from Q, REMAINDER and EXCESS. */
        private void polynomial() {
            to.load(U, two);
            to.apply(Operation.MULTIPLY_ADD, U, Q, to.repeated(-VectorMath.TAIL_CENTRE));
            to.apply(Operation.ADD_PRODUCT, U, Q, REMAINDER);
            to.load(TAIL, to.repeated(VectorMath.TAIL_10));
            horner(TAIL, U, VectorMath.TAIL_9, VectorMath.TAIL_8, VectorMath.TAIL_7, VectorMath.TAIL_6,
                VectorMath.TAIL_5, VectorMath.TAIL_4, VectorMath.TAIL_3, VectorMath.TAIL_2, VectorMath.TAIL_1,
                VectorMath.TAIL_0);
            to.apply(Operation.ADD, SPARE, TAIL, to.repeated(1f));
            to.apply(Operation.ADD_PRODUCT, TAIL, EXCESS, SPARE);
            to.apply(Operation.MULTIPLY_ADD, TAIL, Q, Q);
        }

        /** Multiplies by x and adds a coefficient, for each coefficient. */
        private void horner(int sum, int x, float... coefficients) {
            for (float coefficient : coefficients) {
                to.apply(Operation.MULTIPLY_ADD, sum, x, to.repeated(coefficient));
            }
        }
    }
}
