package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Constant;
import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.PowerPolynomial;
import org.isobar.tensor.DType;

/**
 * Machine code of the loops of a softmax and of its gradient, over tiles of attention. Scores and gradients of weights
 * are F32, results F32 or BF16. Those in F32 have the bits of the loops in Java that they replace ({@code
 * SoftmaxWeights}, {@code SoftmaxGradient} and {@code SoftmaxTile}): the same operations in the same order. Those in
 * BF16 are rounded to nearest, ties to even; below the least normal number they are zero, as products take them. In
 * Java, C2 checks in each step whether the memory of each operand is still allocated, and its bounds, because a store
 * could have changed them.
 */
public final class SoftmaxCode {
    private static final MachineCode MAXIMA = GeneratedCode.loop(SoftmaxCode::maxima);
    private static final MachineCode ROWS_OF_WEIGHTS = GeneratedCode.loop(to -> rowsOfWeights(to, DType.F32));
    private static final MachineCode ROWS_OF_HALVES =
        GeneratedCode.loop(DType.BF16, to -> rowsOfWeights(to, DType.BF16));
    private static final MachineCode WEIGHTS = GeneratedCode.loop(to -> weights(to, DType.F32));
    private static final MachineCode HALVES = GeneratedCode.loop(DType.BF16, to -> weights(to, DType.BF16));
    private static final MachineCode SUMS_OF_ROWS = GeneratedCode.loop(SoftmaxCode::sums);
    private static final MachineCode GRADIENT = GeneratedCode.loop(to -> gradient(to, DType.F32));
    private static final MachineCode GRADIENT_IN_HALVES =
        GeneratedCode.loop(DType.BF16, to -> gradient(to, DType.BF16));

    // General registers: the arguments of weights.
    private static final int SCORES = Assembler.RDI;
    private static final int WEIGHTS_TO = Assembler.RSI;
    private static final int SUMS = Assembler.RDX;
    private static final int REFERENCES = Assembler.RCX;
    private static final int WEIGHTS_EXTENTS = Assembler.R8;
    private static final int FACTOR_BITS = Assembler.R9;

    // Those of the gradient. The addresses of references and deltas are on the stack.
    private static final int D_WEIGHTS = Assembler.RSI;
    private static final int RESULTS = Assembler.RDX;
    private static final int D_SCORES = Assembler.RCX;
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
     * @param scores  address of the scores
     * @param maxima  address of the maxima
     * @param vectors length of a row, in vectors of {@link Lanes#WIDTH}
     * @param gap     number of floats between rows
     */
    public static void maxima(long scores, long maxima, int rows, int vectors, int gap) {
        if (rows > 0 && vectors > 0) {
            MAXIMA.run(scores, maxima, rows, vectors, (long) gap * Float.BYTES, 0);
        }
    }

    /** Addresses of tiles: of scores, and of weights of a type, which may have the same address if it is F32. */
    public record Weights(long scores, long weights, DType dtype) { }

    /**
     * Computes weights 2^(factor (score - maximum)) in consecutive rows, and writes one vector of partial sums for each
     * row.
     *
     * @param maxima  address of the maxima
     * @param sums    address of the sums
     * @param vectors length of a row, in vectors of {@link Lanes#WIDTH}
     */
    public static void weights(Weights tile, long maxima, long sums, int rows, int vectors, float factor) {
        if (rows > 0 && vectors > 0) {
            (tile.dtype == DType.F32 ? ROWS_OF_WEIGHTS : ROWS_OF_HALVES).run(tile.scores, tile.weights, sums, maxima,
                (long) rows << Integer.SIZE | vectors, Float.floatToRawIntBits(factor));
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
     * Computes weights 2^(factor (score - reference)) in rows and adds them to the sums, up to the first row that has
     * a weight that may be wrong, because its exponent is out of range, or a sum that is not below {@link
     * PowerPolynomial#GREATEST_SUM}. That row's sums stay as they are, its weights are undefined.
     *
     * @param references address of the references, one for each row
     * @param sums       address of the sums, one vector for each row
     * @param vectors    length of a row, in vectors of {@link Lanes#WIDTH}
     * @param gap        number of elements between rows of scores, and between rows of weights
     * @return the number of rows that were computed
     */
    public static int addWeights(Weights tile, long references, long sums, int rows, int vectors, int gap,
        float factor) {
        if (rows == 0 || vectors == 0) {
            return rows;
        }
        return rows - (int) (tile.dtype == DType.F32 ? WEIGHTS : HALVES).run(tile.scores, tile.weights, sums,
            references, (long) rows << Integer.SIZE | vectors,
            (long) gap * tile.dtype.bytes() << Integer.SIZE | Integer.toUnsignedLong(Float.floatToRawIntBits(factor)));
    }

    /** Addresses of tiles: operands in F32, and results of a type, which replace them if it is F32. */
    public record Gradient(long scores, long dWeights, long weights, long dScores, DType dtype) { }

    /**
     * Computes weights 2^(factor score + reference), at most 1, and gradients of the scores, (gradient of the weight -
     * delta) weight, in {@code rows} consecutive rows.
     *
     * @param references address of the references, one for each column
     * @param deltas     address of the deltas, one for each column
     * @param vectors    number of columns, in vectors of {@link Lanes#WIDTH}
     */
    public static void gradient(Gradient tile, long references, long deltas, float factor, int rows, int vectors) {
        if (rows > 0 && vectors > 0) {
            (tile.dtype == DType.F32 ? GRADIENT : GRADIENT_IN_HALVES).run(tile.scores, tile.dWeights, tile.weights,
                tile.dScores, Float.floatToRawIntBits(factor), (long) rows << Integer.SIZE | vectors, references,
                deltas, 0, 0);
        }
    }

    private static void maxima(Assembler to) {
        int maxima = Assembler.RSI;
        int rows = Assembler.RDX;
        int width = Assembler.RCX;
        int gap = Assembler.R8;
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
        to.add64(SCORES, gap);
        to.repeat(rows, row);
    }

    private static void rowsOfWeights(Assembler to, DType dtype) {
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.load(LEAST, to.repeated(PowerPolynomial.LEAST));
        forEachRow(to, dtype, () -> to.zero(SUM), () -> {
            to.apply(Operation.MAXIMUM, X, LEAST, X); // NaN remains NaN
            to.apply(Operation.ADD, SHIFTED, X, ROUND);
        }, () -> { });
    }

    /**
     * Emits a loop over rows of weights.
     *
     * @param begin sets SUM, and what else a row begins with
     * @param shift bounds or checks the exponents X of a vector, and computes SHIFTED
     * @param end   follows a row's last vector
     */
    private static void forEachRow(Assembler to, DType dtype, Runnable begin, Runnable shift, Runnable end) {
        boolean rough = dtype == DType.BF16;
        Power power = new Power(to, rough);
        to.copy(ROWS, WEIGHTS_EXTENTS);
        to.takeUpperHalf(ROWS);
        int row = to.position();
        to.broadcast(M, REFERENCES, 0);
        if (rough) {
            to.apply(Operation.MULTIPLY, M, M, FACTOR);
            to.apply(Operation.XOR, M, M, to.repeated(Integer.MIN_VALUE));
        }
        begin.run();
        to.copy(REMAINING, WEIGHTS_EXTENTS);
        to.forEachVector(REMAINING, () -> {
            to.load(X, SCORES, 0);
            if (rough) {
                to.apply(Operation.MULTIPLY_ADD, X, FACTOR, M);
            } else {
                to.apply(Operation.SUBTRACT, X, X, M);
                to.apply(Operation.MULTIPLY, X, X, FACTOR);
            }
            shift.run();
            power.compute();
            to.apply(Operation.ADD, SUM, SUM, P);
            to.storeNext(dtype, WEIGHTS_TO, P);
        }, SCORES);
        end.run();
        to.store(SUMS, 0, SUM);
        to.increase(REFERENCES, Float.BYTES);
        to.increase(SUMS, Lanes.F32.vectorByteSize());
        to.repeat(ROWS, row);
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

    private static void weights(Assembler to, DType dtype) {
        int gap = FACTOR_BITS;
        Constant within = to.repeated(PowerPolynomial.WITHIN);
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.takeUpperHalf(gap);
        forEachRow(to, dtype, () -> {
            to.load(SUM, SUMS, 0);
            to.zero(RANGE);
        }, () -> {
            to.apply(Operation.ADD, SHIFTED, X, ROUND);
            to.apply(Operation.XOR, P, SHIFTED, within);
            to.apply(Operation.OR, RANGE, RANGE, P);
        }, () -> {
            to.copyVector(P, SUM);
            to.test(Assembler.RAX, RANGE, to.repeated(PowerPolynomial.BEYOND), P,
                to.repeated(PowerPolynomial.GREATEST_SUM), X);
            to.leaveUnless(Assembler.RAX, (1 << to.set.lanes) - 1);
            for (int bytes = 0; bytes < Float.BYTES; bytes += dtype.bytes()) {
                to.add64(SCORES, gap); // twice for weights in BF16: scores have twice as many bytes
            }
            to.add64(WEIGHTS_TO, gap);
        });
        to.exit();
        to.copy(Assembler.RAX, ROWS);
    }

    private static void gradient(Assembler to, DType dtype) {
        to.broadcastBits(FACTOR, GRADIENT_FACTOR_BITS);
        Power power = new Power(to, false);
        to.load(LEAST, to.repeated(PowerPolynomial.LEAST));
        to.load(ONE, to.repeated(PowerPolynomial.P0));
        to.copy(ROWS, EXTENTS);
        to.takeUpperHalf(ROWS);
        int row = to.position();
        to.load64(REFERENCE, Assembler.RSP, Assembler.SEVENTH);
        to.load64(DELTA, Assembler.RSP, Assembler.SEVENTH + Long.BYTES);
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
            to.storeNext(dtype, RESULTS, P);
            to.storeNext(dtype, D_SCORES, X);
        }, SCORES, D_WEIGHTS, REFERENCE, DELTA);
        to.repeat(ROWS, row);
    }

    /**
     * The power of two of X, whose sum with ROUND is in SHIFTED, to P. Rough powers suffice for weights that are
     * rounded to BF16.
     */
    private static final class Power {
        private final Assembler to;
        private final boolean rough;
        private final Constant p0;
        private final Constant p2;
        private final Constant p4;

        /** Loads the constants. */
        Power(Assembler to, boolean rough) {
            this.to = to;
            this.rough = rough;
            p0 = to.repeated(PowerPolynomial.P0);
            p2 = to.repeated(PowerPolynomial.P2);
            p4 = to.repeated(PowerPolynomial.P4);
            to.load(ROUND, to.repeated(PowerPolynomial.ROUND_BITS));
            to.load(P1, to.repeated(rough ? PowerPolynomial.H2 : PowerPolynomial.P1));
            to.load(P3, to.repeated(rough ? PowerPolynomial.H3 : PowerPolynomial.P3));
            to.load(P5, to.repeated(rough ? PowerPolynomial.H4 : PowerPolynomial.P5));
        }

        void compute() {
            to.apply(Operation.SUBTRACT, P, SHIFTED, ROUND);
            to.apply(Operation.SUBTRACT, X, X, P);
            if (rough) {
                to.copyVector(P, X);
                to.apply(Operation.MULTIPLY_ADD, P, P5, P3);
                to.apply(Operation.MULTIPLY_ADD, P, X, P1);
                to.apply(Operation.MULTIPLY_ADD, P, X, to.repeated(PowerPolynomial.H1));
                to.apply(Operation.MULTIPLY_ADD, P, X, p0);
            } else {
                polynomial();
            }
            to.shiftLeft(SHIFTED, SHIFTED, PowerPolynomial.MANTISSA_BITS);
            to.apply(Operation.MULTIPLY, P, P, SHIFTED);
        }

        private void polynomial() {
            to.copyVector(R, X);
            to.apply(Operation.MULTIPLY_ADD, R, P1, p0);
            to.copyVector(Q, X);
            to.apply(Operation.MULTIPLY_ADD, Q, P3, p2);
            to.copyVector(P, X);
            to.apply(Operation.MULTIPLY_ADD, P, P5, p4);
            to.apply(Operation.MULTIPLY, X, X, X);
            to.apply(Operation.MULTIPLY_ADD, P, X, Q);
            to.apply(Operation.MULTIPLY_ADD, P, X, R);
        }
    }
}
