package org.isobar.backend.cpu.generated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matmul.Finish;
import org.isobar.backend.cpu.product.Matmul.Form;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.backend.cpu.product.StackedMatmul;
import org.isobar.os.HostMachine;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Products in machine code against sums in double precision, for all remainders of rows, columns and terms, with each
 * set of instructions that the processor has.
 */
final class PanelMatmulTest {
    /** What no product may overwrite, and what nothing may read. */
    private static final float GUARD = 7;
    private static final int GAP = 3;
    private static final double EPSILON = 0x1p-24;

    private static void requireSupport(InstructionSet set) {
        assumeTrue(set.isSupported(System.getProperty("os.arch"), HostMachine.processorFeatures())
            && GeneratedCode.executes());
    }

    private static Stream<Arguments> layouts() {
        return Arrays.stream(InstructionSet.values()).flatMap(set -> Arrays.stream(Form.values())
            .flatMap(form -> Arrays.stream(Finish.values()).flatMap(finish -> IntStream.range(0, 4)
                .mapToObj(transposed ->
                    Arguments.of(set, form, finish, (transposed & 1) > 0, (transposed & 2) > 0)))));
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void productsAreThoseOfDoublePrecision(InstructionSet set, Form form, Finish finish, boolean aTransposed,
        boolean bTransposed) {
        requireSupport(set);
        for (int n = 1; n <= 4 * set.lanes + 1; n++) {
            int m = n % 31 + 1; // up to three blocks of rows
            int k = n * 5 % 19 + 1;
            new Case(set, form, finish, m, n, k, aTransposed, bTransposed).check();
        }
        new Case(set, form, finish, 14, 50, 256, aTransposed, bTransposed).check();
        new Case(set, form, finish, 29, 96, 10, aTransposed, bTransposed).check();
        new Case(set, form, finish, 6, 16, 700, aTransposed, bTransposed).check(); // three parts of the sums
        new Case(set, form, finish, 512 - GAP, 3, 300, aTransposed, bTransposed).check(); // stored rows of 2 KiB
    }

    /** Terms are added in their order, so the bits depend neither on the tile nor on the layouts nor on vectors. */
    @ParameterizedTest
    @EnumSource
    void sumsDoNotDependOnTheirTile(InstructionSet set) {
        requireSupport(set);
        float[] whole = new Case(set, Form.PACKED, Finish.OVERWRITE, 13, 40, 300, false, true).run();
        float[] part = new Case(InstructionSet.AVX2, Form.PLAIN, Finish.OVERWRITE, 5, 7, 300, true, false).run();
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 7; j++) {
                assertEquals(whole[i * (40 + GAP) + j], part[i * (7 + GAP) + j], "(" + i + ", " + j + ")");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void stacksAreMultipliedByTheirFactor(InstructionSet set) {
        requireSupport(set);
        int count = 3;
        int m = 7;
        int n = 9;
        int k = 270; // two parts of the sums
        float factor = 0.25f;
        try (Arena arena = Arena.ofConfined(); PackingScratch scratch = new PackingScratch(2)) {
            MatrixStack a = new MatrixStack(Matrix.of(floats(arena, count * m * k, i -> Case.number(1, i, 0)), k),
                m * k);
            MatrixStack b = new MatrixStack(Matrix.of(floats(arena, count * k * n, i -> Case.number(2, i, 0)), k)
                .transpose(), k * n);
            MemorySegment result = floats(arena, count * m * n, i -> GUARD);
            MatrixStack c = new MatrixStack(Matrix.of(result, n), m * n);
            StackedMatmul.Key key = new StackedMatmul.Key(new StackedMatmul.Extents(count, m, n, k),
                StackedMatmul.Layout.of(a), StackedMatmul.Layout.of(b), StackedMatmul.Layout.of(c), factor);
            try (StackedMatmul products = new PanelStackedMatmul(key, set, scratch)) {
                products.run(1, c, a, b);
            }
            for (int i = 0; i < count * m * n; i++) {
                int matrix = i / (m * n);
                double sum = 0;
                for (int l = 0; l < k; l++) {
                    sum += (double) Case.number(1, i / n * k + l, 0) * Case.number(2, (matrix * n + i % n) * k + l, 0);
                }
                assertEquals(factor * sum, result.getAtIndex(ValueLayout.JAVA_FLOAT, i), factor * k * EPSILON * k);
            }
        }
    }

    private record Case(InstructionSet set, Form form, Finish finish, int m, int n, int k, boolean aTransposed,
        boolean bTransposed) {
        void check() {
            float[] c = run();
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) {
                    double sum = finish == Finish.ADD ? GUARD : finish == Finish.ADD_BIAS ? bias(j) : 0;
                    for (int l = 0; l < k; l++) {
                        sum += (double) left(i, l) * right(l, j);
                    }
                    assertEquals(sum, c[i * (n + GAP) + j], (k + GUARD) * EPSILON * (k + 2), "(" + i + ", " + j
                        + ") of " + this);
                }
                for (int j = n; j < n + GAP; j++) {
                    assertEquals(GUARD, c[i * (n + GAP) + j], "beside row " + i + " of " + this);
                }
            }
        }

        /** Computes c, with rows that are {@link #GAP} apart. */
        float[] run() {
            try (Arena arena = Arena.ofConfined(); PackingScratch scratch = new PackingScratch(2)) {
                MemorySegment result = floats(arena, m * (n + GAP), i -> GUARD);
                MemorySegment bias = floats(arena, n, Case::bias);
                Matrix a = matrix(arena, m, k, aTransposed, (i, l) -> left(i, l));
                Matrix b = matrix(arena, k, n, bTransposed, (l, j) -> right(l, j));
                Matrix c = Matrix.of(result, n + GAP);
                Packing.Key right = new Packing.Key(DType.F32, DType.F32, m, n, k, b.stride(), bTransposed);
                try (Packing packing = new PanelPacking(right, set);
                    Matmul product = new PanelMatmul(new Matmul.Key(right, form, m, a.stride(), aTransposed, c.stride(),
                        finish), set, 1, scratch)) {
                    MemorySegment packed = floats(arena, (int) packing.bytes() / Float.BYTES, i -> Float.NaN);
                    packing.pack(1, packed.address(), b);
                    product.run(1, c, a, form == Form.PACKED ? packed.address() : b.address(), bias.address());
                }
                return result.toArray(ValueLayout.JAVA_FLOAT);
            }
        }

        private static float bias(int column) {
            return column % GUARD + 0.5f;
        }

        private static float left(int row, int term) {
            return number(1, row, term);
        }

        private static float right(int term, int column) {
            return number(2, term, column);
        }

        private static float number(long seed, int row, int column) {
            return (float) (2 * Philox.uniform(Philox.Key.of(seed, "panels"), row * 1000L + column) - 1);
        }
    }

    @FunctionalInterface
    private interface Element {
        float at(int row, int column);
    }

    @FunctionalInterface
    private interface Number {
        float at(int index);
    }

    private static MemorySegment floats(Arena arena, int count, Number number) {
        MemorySegment floats = arena.allocate((long) count * Float.BYTES, CpuWorkspace.CACHE_LINE);
        for (int i = 0; i < count; i++) {
            floats.setAtIndex(ValueLayout.JAVA_FLOAT, i, number.at(i));
        }
        return floats;
    }

    /** A matrix in rows with a gap of NaN behind each. */
    private static Matrix matrix(Arena arena, int rows, int columns, boolean transposed, Element element) {
        int length = transposed ? rows : columns;
        int stride = length + GAP;
        Matrix matrix = Matrix.of(floats(arena, (transposed ? columns : rows) * stride, i -> {
            int stored = i / stride;
            int within = i % stride;
            return within >= length ? Float.NaN
                : transposed ? element.at(within, stored) : element.at(stored, within);
        }), stride);
        return transposed ? matrix.transpose() : matrix;
    }

    @ParameterizedTest
    @EnumSource
    void codeReturnsItsResult(InstructionSet set) {
        requireSupport(set);
        Assembler to = new Assembler(set);
        to.move(Assembler.RAX, 42);
        to.ret();
        try (MachineCode code = new MachineCode(to.bytes())) {
            assertEquals(42, code.run(0, 0, 0, 0, 0, 0));
        }
    }
}
