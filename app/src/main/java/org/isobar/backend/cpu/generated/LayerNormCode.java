package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Machine code of layer normalization and its gradients in single precision, on consecutive rows of whole vectors, with
 * the bits of the loops in {@code NormalizedRows} and {@code LayerNormGradientRows}. Operands are addresses.
 */
public final class LayerNormCode {
    private static final MachineCode MEASURE = GeneratedCode.loop(LayerNormCode::measure);
    private static final MachineCode NORMALIZE = GeneratedCode.loop(LayerNormCode::normalize);
    private static final MachineCode GRADIENT = GeneratedCode.loop(to -> new GradientCode(to, false).make());
    private static final MachineCode ADDED_GRADIENT = GeneratedCode.loop(to -> new GradientCode(to, true).make());

    private LayerNormCode() { }

    /** Whether code is available, and rows of so many numbers consist of whole vectors. */
    public static boolean suits(int width) {
        return RowCode.suits(DType.F32, width);
    }

    /** Computes the mean and the variance of each row. */
    public static void measure(long x, int rows, int width, long means, long variances) {
        assert suits(width) : width;
        if (rows > 0) {
            MEASURE.run(x, rows, width / Lanes.WIDTH, means, variances, Float.floatToRawIntBits(width));
        }
    }

    /** Computes {@code y = (x - mean) invStd gamma + beta} for each row. */
    public static void normalize(long y, long x, int rows, int width, long means, long invStds, long gamma, long beta) {
        assert suits(width) : width;
        if (rows > 0) {
            NORMALIZE.run(y, x, rows, width / Lanes.WIDTH, means, invStds, gamma, beta, 0, 0);
        }
    }

    /** Addresses of the operands of the gradients, from a first row on. */
    public record Gradients(long dx, long dy, long x, long means, long invStds, long gamma, long sums) { }

    /**
     * Computes the gradients of the inputs of each row, and adds the parts of dGamma, followed by dBeta, to the sums.
     *
     * @param add whether dx is added to, and not replaced
     */
    public static void gradients(Gradients of, int rows, int width, boolean add) {
        assert suits(width) : width;
        if (rows > 0) {
            (add ? ADDED_GRADIENT : GRADIENT).run(of.dx, of.dy, of.x, rows, of.sums, width / Lanes.WIDTH, of.means,
                of.invStds, of.gamma, Float.floatToRawIntBits(width));
        }
    }

    private static void measure(Assembler to) {
        int x = Assembler.RDI;
        int rows = Assembler.RSI;
        int width = Assembler.RDX;
        int means = Assembler.RCX;
        int variances = Assembler.R8;
        int widthBits = Assembler.R9;
        int again = Assembler.R10;
        int vectors = Assembler.R11;
        int sum = 0;
        int mean = 1;
        int distance = 2;
        int divisor = 3;
        to.broadcastBits(divisor, widthBits);
        int row = to.position();
        to.copy(again, x);
        to.zero(sum);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> to.apply(Operation.ADD, sum, sum, x, 0), x);
        to.reduce(Operation.ADD, sum, distance);
        to.apply(Operation.DIVIDE, mean, sum, divisor);
        to.storeFloat(means, 0, mean);
        to.zero(sum);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> {
            to.load(distance, again, 0);
            to.apply(Operation.SUBTRACT, distance, distance, mean);
            to.apply(Operation.ADD_PRODUCT, sum, distance, distance);
        }, again);
        to.reduce(Operation.ADD, sum, distance);
        to.apply(Operation.DIVIDE, sum, sum, divisor);
        to.storeFloat(variances, 0, sum);
        to.increase(means, Float.BYTES);
        to.increase(variances, Float.BYTES);
        to.repeat(rows, row);
    }

    private static void normalize(Assembler to) {
        int y = Assembler.RDI;
        int x = Assembler.RSI;
        int rows = Assembler.RDX;
        int width = Assembler.RCX;
        int means = Assembler.R8;
        int invStds = Assembler.R9;
        int gamma = Assembler.R10;
        int beta = Assembler.R11;
        int vectors = Assembler.RAX;
        int normal = 0;
        int mean = 1;
        int invStd = 2;
        int scale = 3;
        int row = to.position();
        to.broadcast(mean, means, 0);
        to.broadcast(invStd, invStds, 0);
        to.load64(gamma, Assembler.RSP, Assembler.SEVENTH);
        to.load64(beta, Assembler.RSP, Assembler.SEVENTH + Long.BYTES);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> {
            to.load(normal, x, 0);
            to.apply(Operation.SUBTRACT, normal, normal, mean);
            to.apply(Operation.MULTIPLY, normal, normal, invStd);
            to.load(scale, gamma, 0);
            to.apply(Operation.MULTIPLY_ADD, normal, scale, beta, 0);
            to.store(y, 0, normal);
        }, y, x, gamma, beta);
        to.increase(means, Float.BYTES);
        to.increase(invStds, Float.BYTES);
        to.repeat(rows, row);
    }

    /** Two passes over each row, the first of which computes sums. */
    private static final class GradientCode {
        // General registers: the arguments, and what counts. The others are on the stack, where those of the statistics
        // move from row to row.
        private static final int DX = Assembler.RDI;
        private static final int DY = Assembler.RSI;
        private static final int X = Assembler.RDX;
        private static final int ROWS = Assembler.RCX;
        private static final int SUMS = Assembler.R8;
        private static final int WIDTH = Assembler.R9;
        private static final int VECTORS = Assembler.RAX;
        private static final int GAMMA = Assembler.R10;
        private static final int BETA_SUMS = Assembler.R11;
        private static final int MEANS = Assembler.SEVENTH;
        private static final int INV_STDS = MEANS + Long.BYTES;
        private static final int GAMMAS = INV_STDS + Long.BYTES;
        private static final int WIDTH_BITS = GAMMAS + Long.BYTES;

        // Vector registers.
        private static final int NORMAL = 0;
        private static final int D_OUT = 1;
        private static final int G = 2;
        private static final int SUM_G = 3;
        private static final int SUM_GN = 4;
        private static final int MEAN = 5;
        private static final int INV_STD = 6;
        private static final int WIDE = 7;
        private static final int SPARE = 8;

        private final Assembler to;
        private final boolean add;

        GradientCode(Assembler to, boolean add) {
            this.to = to;
            this.add = add;
        }

        void make() {
            to.broadcast(WIDE, Assembler.RSP, WIDTH_BITS);
            int row = to.position();
            statistic(MEAN, MEANS);
            statistic(INV_STD, INV_STDS);
            sums();
            means();
            inputs();
            to.repeat(ROWS, row);
        }

        /** Loads the statistic of this row, whose address is on the stack, and moves the address to the next row. */
        private void statistic(int vector, int argument) {
            to.load64(VECTORS, Assembler.RSP, argument);
            to.broadcast(vector, VECTORS, 0);
            to.increase(VECTORS, Float.BYTES);
            to.store64(Assembler.RSP, argument, VECTORS);
        }

        /** Starts a pass over the row. */
        private void start() {
            to.load64(GAMMA, Assembler.RSP, GAMMAS);
            to.copy(VECTORS, WIDTH);
        }

        private void normal() {
            to.load(NORMAL, X, 0);
            to.apply(Operation.SUBTRACT, NORMAL, NORMAL, MEAN);
            to.apply(Operation.MULTIPLY, NORMAL, NORMAL, INV_STD);
        }

        private void sums() {
            start();
            to.copy(BETA_SUMS, WIDTH);
            to.timesVector(BETA_SUMS);
            to.add64(BETA_SUMS, SUMS);
            to.zero(SUM_G);
            to.zero(SUM_GN);
            to.forEachVector(VECTORS, () -> {
                to.load(D_OUT, DY, 0);
                normal();
                to.apply(Operation.MULTIPLY, G, D_OUT, GAMMA, 0);
                to.apply(Operation.ADD, SUM_G, SUM_G, G);
                to.apply(Operation.ADD_PRODUCT, SUM_GN, G, NORMAL);
                to.apply(Operation.MULTIPLY_ADD, NORMAL, D_OUT, SUMS, 0);
                to.store(SUMS, 0, NORMAL);
                to.apply(Operation.ADD, D_OUT, D_OUT, BETA_SUMS, 0);
                to.store(BETA_SUMS, 0, D_OUT);
            }, DY, X, GAMMA, SUMS, BETA_SUMS);
        }

        /** Turns the sums into mean(g) and -mean(g n), and returns to the start of the row. */
        private void means() {
            to.reduce(Operation.ADD, SUM_G, SPARE);
            to.apply(Operation.DIVIDE, SUM_G, SUM_G, WIDE);
            to.reduce(Operation.ADD, SUM_GN, SPARE);
            to.apply(Operation.DIVIDE, SUM_GN, SUM_GN, WIDE);
            to.apply(Operation.XOR, SUM_GN, SUM_GN, to.repeated(Integer.MIN_VALUE));
            to.copy(VECTORS, WIDTH);
            to.timesVector(VECTORS);
            for (int address : new int[] {DY, X, SUMS}) {
                to.subtract64(address, VECTORS);
            }
        }

        private void inputs() {
            start();
            to.forEachVector(VECTORS, () -> {
                normal();
                to.load(G, DY, 0);
                to.apply(Operation.MULTIPLY, G, G, GAMMA, 0);
                to.apply(Operation.SUBTRACT, G, G, SUM_G);
                to.apply(Operation.MULTIPLY_ADD, NORMAL, SUM_GN, G);
                to.apply(Operation.MULTIPLY, NORMAL, NORMAL, INV_STD);
                if (add) {
                    to.apply(Operation.ADD, NORMAL, NORMAL, DX, 0);
                }
                to.store(DX, 0, NORMAL);
            }, DX, DY, X, GAMMA);
        }
    }
}
