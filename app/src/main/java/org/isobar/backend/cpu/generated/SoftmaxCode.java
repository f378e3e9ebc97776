package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Constant;
import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.PowerPolynomial;

/**
 * Machine code of the loops of a softmax in single precision, and of its gradient, over tiles of attention. The results
 * have the bits of the loops in Java that they replace ({@code SoftmaxWeights.toFloats}, {@code
 * SoftmaxGradient.toFloats} and those of {@code SoftmaxTile}): the same operations in the same order. There, C2 checks
 * in each step whether the memory of each operand is still allocated, and its bounds, because a store could have
 * changed them.
 */
public final class SoftmaxCode {
    private static final MachineCode MAXIMA = GeneratedCode.loop(SoftmaxCode::maxima);
    private static final MachineCode ROWS_OF_WEIGHTS = GeneratedCode.loop(SoftmaxCode::rowsOfWeights);
    private static final MachineCode WEIGHTS = GeneratedCode.loop(SoftmaxCode::weights);
    private static final MachineCode SUMS_OF_ROWS = GeneratedCode.loop(SoftmaxCode::sums);
    private static final MachineCode GRADIENT = GeneratedCode.loop(SoftmaxCode::gradient);
    private static final int ALL_LANES = (1 << Lanes.WIDTH) - 1;

    // General registers: the arguments of both functions, then what counts.
    private static final int SCORES = Assembler.RDI;
    private static final int WEIGHTS_TO = Assembler.RSI;
    private static final int SUMS = Assembler.RDX;
    private static final int VECTORS = Assembler.RCX;
    private static final int REFERENCE_BITS = Assembler.R8;
    private static final int FACTOR_BITS = Assembler.R9;

    private static final int D_WEIGHTS = Assembler.RSI;
    private static final int REFERENCES = Assembler.RDX;
    private static final int DELTAS = Assembler.RCX;
    private static final int GRADIENT_FACTOR_BITS = Assembler.R8;
    private static final int EXTENTS = Assembler.R9;
    private static final int ROWS = Assembler.R10;
    private static final int REMAINING = Assembler.R11;
    private static final int REFERENCE = Assembler.RAX;
    private static final int DELTA = Assembler.R8;

    // Vector registers.
    private static final int X = 0;
    private static final int SHIFTED = 1;
    private static final int P = 2;
    private static final int Q = 3;
    private static final int R = 4;
    private static final int FACTOR = 5;
    private static final int ROUND = 6;
    private static final int P1 = 7;
    private static final int P3 = 8;
    private static final int P5 = 9;
    private static final int M = 10;
    private static final int RANGE = 11;
    private static final int SUM = 12;
    private static final int LEAST = 13;
    private static final int ONE = 14;

    private SoftmaxCode() { }

    /**
     * Computes the maximum of each row of scores, ignoring NaN. If it is zero, its sign may differ from that in Java,
     * which no weight and no sum depends on.
     *
     * @param scores  address of the scores, in consecutive rows
     * @param maxima  address of the maxima
     * @param vectors length of a row, in vectors of {@link Lanes#WIDTH}
     */
    public static void maxima(long scores, long maxima, int rows, int vectors) {
        if (rows > 0 && vectors > 0) {
            MAXIMA.run(scores, maxima, rows, vectors);
        }
    }

    /**
     * Replaces scores by weights 2^(factor (score - maximum)) in consecutive rows, and writes one vector of partial
     * sums for each row.
     *
     * @param maxima  address of the maxima
     * @param sums    address of the sums
     * @param vectors length of a row, in vectors of {@link Lanes#WIDTH}
     */
    public static void weights(long scores, long maxima, long sums, int rows, int vectors, float factor) {
        if (rows > 0 && vectors > 0) {
            ROWS_OF_WEIGHTS.run(scores, maxima, sums, rows, vectors, Float.floatToRawIntBits(factor));
        }
    }

    /**
     * Replaces each vector of partial sums by their sum, a double, followed by its inverse, a float. The partial sums
     * are added from the first to the last.
     *
     * @param sums address of the vectors
     */
    public static void sums(long sums, int vectors) {
        if (vectors > 0) {
            SUMS_OF_ROWS.run(sums, vectors, 0, 0);
        }
    }

    /**
     * Computes the weights 2^(factor (score - m)) of the scores of a row and adds them to {@code sums}.
     *
     * @param scores  address of the scores
     * @param weights address of the weights
     * @param sums    address of one vector of sums
     * @param vectors number of scores, in vectors of {@link Lanes#WIDTH}
     * @return false if a weight may be wrong, because its exponent is out of range, or a sum is not below {@link
     *     PowerPolynomial#GREATEST_SUM}
     */
    public static boolean weights(long scores, long weights, long sums, int vectors, float m, float factor) {
        return vectors == 0 || WEIGHTS.run(scores, weights, sums, vectors, Float.floatToRawIntBits(m),
            Float.floatToRawIntBits(factor)) == ALL_LANES;
    }

    /**
     * Replaces scores by weights 2^(factor score + reference), at most 1, and gradients of weights by those of the
     * scores, (gradient - delta) weight, in {@code rows} consecutive rows.
     *
     * @param references address of the references, one for each column
     * @param deltas     address of the deltas, one for each column
     * @param vectors    number of columns, in vectors of {@link Lanes#WIDTH}
     */
    public static void gradient(long scores, long dWeights, long references, long deltas, float factor, int rows,
        int vectors) {
        if (rows > 0 && vectors > 0) {
            GRADIENT.run(scores, dWeights, references, deltas, Float.floatToRawIntBits(factor),
                (long) rows << Integer.SIZE | vectors);
        }
    }

    private static void maxima(Assembler to) {
        int maxima = Assembler.RSI;
        int rows = Assembler.RDX;
        int width = Assembler.RCX;
        int vectors = Assembler.RAX;
        to.load(LEAST, to.repeated(Float.NEGATIVE_INFINITY));
        int row = to.position();
        to.copyVector(M, LEAST);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> {
            to.load(X, SCORES, 0);
            to.apply(Operation.MAXIMUM, M, X, M); // M if X is NaN
        }, SCORES);
        to.reduce(Operation.MAXIMUM, M, X);
        to.storeFloat(maxima, 0, M);
        to.increase(maxima, Float.BYTES);
        to.repeat(rows, row);
    }

    private static void rowsOfWeights(Assembler to) {
        int maxima = Assembler.RSI;
        int sums = Assembler.RDX;
        int rows = Assembler.RCX;
        int width = Assembler.R8;
        int vectors = Assembler.RAX;
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.load(LEAST, to.repeated(PowerPolynomial.LEAST));
        Power power = new Power(to);
        int row = to.position();
        to.broadcast(M, maxima, 0);
        to.zero(SUM);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> {
            to.load(X, SCORES, 0);
            to.apply(Operation.SUBTRACT, X, X, M);
            to.apply(Operation.MULTIPLY, X, X, FACTOR);
            to.apply(Operation.MAXIMUM, X, LEAST, X); // NaN remains NaN
            to.apply(Operation.ADD, SHIFTED, X, ROUND);
            power.compute();
            to.store(SCORES, 0, P);
            to.apply(Operation.ADD, SUM, SUM, P);
        }, SCORES);
        to.store(sums, 0, SUM);
        to.increase(maxima, Float.BYTES);
        to.increase(sums, Lanes.F32.vectorByteSize());
        to.repeat(rows, row);
    }

    private static void sums(Assembler to) {
        int sums = Assembler.RDI;
        int vectors = Assembler.RSI;
        int one = 2;
        int half = Lanes.F32.vectorByteSize() / 2;
        int lanes = -2 * Lanes.F64.vectorByteSize(); // behind the stack, in memory that a function may use
        to.load(one, to.repeatedDouble(1));
        to.forEachVector(vectors, () -> {
            to.loadDoubles(X, sums, 0);
            to.store(Assembler.RSP, lanes, X);
            to.loadDoubles(X, sums, half);
            to.store(Assembler.RSP, lanes + Lanes.F64.vectorByteSize(), X);
            to.zero(SUM);
            for (int lane = 0; lane < Lanes.WIDTH; lane++) {
                to.addDouble(SUM, Assembler.RSP, lanes + lane * Double.BYTES);
            }
            to.storeDouble(sums, 0, SUM);
            to.divideDouble(SUM, one, SUM);
            to.roundDouble(SUM, SUM);
            to.storeFloat(sums, Double.BYTES, SUM);
        }, sums);
    }

    private static void weights(Assembler to) {
        Constant within = to.repeated(PowerPolynomial.WITHIN);
        to.broadcastBits(M, REFERENCE_BITS);
        to.broadcastBits(FACTOR, FACTOR_BITS);
        Power power = new Power(to);
        to.load(SUM, SUMS, 0);
        to.zero(RANGE);
        to.forEachVector(VECTORS, () -> {
            to.load(X, SCORES, 0);
            to.apply(Operation.SUBTRACT, X, X, M);
            to.apply(Operation.MULTIPLY, X, X, FACTOR);
            to.apply(Operation.ADD, SHIFTED, X, ROUND);
            to.apply(Operation.XOR, P, SHIFTED, within);
            to.apply(Operation.OR, RANGE, RANGE, P);
            power.compute();
            to.store(WEIGHTS_TO, 0, P);
            to.apply(Operation.ADD, SUM, SUM, P);
        }, SCORES, WEIGHTS_TO);
        to.store(SUMS, 0, SUM);
        to.test(Assembler.RAX, RANGE, to.repeated(PowerPolynomial.BEYOND), SUM,
            to.repeated(PowerPolynomial.GREATEST_SUM), X);
    }

    private static void gradient(Assembler to) {
        to.broadcastBits(FACTOR, GRADIENT_FACTOR_BITS);
        Power power = new Power(to);
        to.load(LEAST, to.repeated(PowerPolynomial.LEAST));
        to.load(ONE, to.repeated(PowerPolynomial.P0));
        to.copy(ROWS, EXTENTS);
        to.takeUpperHalf(ROWS);
        int row = to.position();
        to.copy(REFERENCE, REFERENCES);
        to.copy(DELTA, DELTAS);
        to.copy(REMAINING, EXTENTS);
        to.forEachVector(REMAINING, () -> {
            to.load(X, SCORES, 0);
            to.apply(Operation.MULTIPLY_ADD, X, FACTOR, REFERENCE, 0);
            to.apply(Operation.MAXIMUM, X, LEAST, X); // NaN remains NaN
            to.apply(Operation.MINIMUM, X, ONE, X);
            to.apply(Operation.ADD, SHIFTED, X, ROUND);
            power.compute();
            to.load(X, D_WEIGHTS, 0);
            to.apply(Operation.SUBTRACT, X, X, DELTA, 0);
            to.apply(Operation.MULTIPLY, X, X, P);
            to.store(SCORES, 0, P);
            to.store(D_WEIGHTS, 0, X);
        }, SCORES, D_WEIGHTS, REFERENCE, DELTA);
        to.repeat(ROWS, row);
    }

    /** The power of two of X, whose sum with ROUND is in SHIFTED, to P. */
    private static final class Power {
        private final Assembler to;
        private final Constant p0;
        private final Constant p2;
        private final Constant p4;

        /** Loads the constants. */
        Power(Assembler to) {
            this.to = to;
            p0 = to.repeated(PowerPolynomial.P0);
            p2 = to.repeated(PowerPolynomial.P2);
            p4 = to.repeated(PowerPolynomial.P4);
            to.load(ROUND, to.repeated(PowerPolynomial.ROUND_BITS));
            to.load(P1, to.repeated(PowerPolynomial.P1));
            to.load(P3, to.repeated(PowerPolynomial.P3));
            to.load(P5, to.repeated(PowerPolynomial.P5));
        }

        void compute() {
            to.apply(Operation.SUBTRACT, P, SHIFTED, ROUND);
            to.apply(Operation.SUBTRACT, X, X, P);
            to.copyVector(R, X);
            to.apply(Operation.MULTIPLY_ADD, R, P1, p0);
            to.copyVector(Q, X);
            to.apply(Operation.MULTIPLY_ADD, Q, P3, p2);
            to.copyVector(P, X);
            to.apply(Operation.MULTIPLY_ADD, P, P5, p4);
            to.apply(Operation.MULTIPLY, X, X, X);
            to.apply(Operation.MULTIPLY_ADD, P, X, Q);
            to.apply(Operation.MULTIPLY_ADD, P, X, R);
            to.shiftLeft(SHIFTED, SHIFTED, PowerPolynomial.MANTISSA_BITS);
            to.apply(Operation.MULTIPLY, P, P, SHIFTED);
        }
    }
}
