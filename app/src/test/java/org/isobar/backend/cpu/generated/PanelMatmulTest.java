package org.isobar.backend.cpu.generated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Set;
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

    /** Instructions and types of products. */
    private enum Kind {
        AVX2(InstructionSet.AVX2, DType.F32, DType.F32),
        AVX512(InstructionSet.AVX512, DType.F32, DType.F32),
        SUMS_OF_HALVES(InstructionSet.AVX512, DType.BF16, DType.F32),
        HALVES(InstructionSet.AVX512, DType.BF16, DType.BF16);

        private final InstructionSet set;
        private final DType operands;
        private final DType result;

        Kind(InstructionSet set, DType operands, DType result) {
            this.set = set;
            this.operands = operands;
            this.result = result;
        }

        void requireSupport() {
            Set<String> features = HostMachine.processorFeatures();
            assumeTrue(set.isSupported(System.getProperty("os.arch"), features) && GeneratedCode.executes()
                && (operands == DType.F32 || GeneratedCode.convertsHalves(set, features)));
        }
    }

    private static Stream<Arguments> layouts() {
        return Arrays.stream(Kind.values()).flatMap(kind -> Arrays.stream(Form.values())
            .flatMap(form -> Arrays.stream(Finish.values()).flatMap(finish -> IntStream.range(0, 4)
                .mapToObj(transposed ->
                    Arguments.of(kind, form, finish, (transposed & 1) > 0, (transposed & 2) > 0)))));
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void productsAreThoseOfDoublePrecision(Kind kind, Form form, Finish finish, boolean aTransposed,
        boolean bTransposed) {
        kind.requireSupport();
        int unit = Panel.termsPerStep(kind.operands);
        for (int n = 1; n <= 4 * kind.set.lanes + 1; n++) {
            int m = n % 31 + 1; // up to three blocks of rows
            int k = (n * 5 % 19 + 1) * unit;
            new Case(kind, form, finish, m, n, k, aTransposed, bTransposed).check();
        }
        new Case(kind, form, finish, 14, 50, 256, aTransposed, bTransposed).check();
        new Case(kind, form, finish, 29, 96, 10, aTransposed, bTransposed).check();
        new Case(kind, form, finish, 6, 16, 700, aTransposed, bTransposed).check(); // sums in F32 have several parts
        new Case(kind, form, finish, 512 - GAP, 3, 300, aTransposed, bTransposed).check(); // rows of a power of two
        new Case(kind, form, finish, 17, 3, (1024 - GAP) / unit * unit, aTransposed, bTransposed).check(); // of a page
    }

    /** Terms are added in their order, so the bits depend neither on the tile nor on the layouts nor on vectors. */
    @ParameterizedTest
    @EnumSource
    void sumsDoNotDependOnTheirTile(Kind kind) {
        kind.requireSupport();
        float[] whole = new Case(kind, Form.PACKED, Finish.OVERWRITE, 13, 40, 300, false, true).run();
        float[] part = new Case(kind == Kind.AVX512 ? Kind.AVX2 : kind, Form.PLAIN, Finish.OVERWRITE, 5, 7, 300, true,
            false).run();
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 7; j++) {
                assertEquals(whole[i * (40 + GAP) + j], part[i * (7 + GAP) + j], "(" + i + ", " + j + ")");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void stacksAreMultipliedByTheirFactor(Kind kind) {
        kind.requireSupport();
        int count = 3;
        int m = 7;
        int n = 9;
        int k = 270; // in F32, two parts of the sums
        float factor = 0.25f;
        try (Arena arena = Arena.ofConfined(); PackingScratch scratch = new PackingScratch(2)) {
            DType dtype = kind.operands;
            MatrixStack a = new MatrixStack(Matrix.of(dtype, elements(arena, dtype, count * m * k,
                i -> number(dtype, 1, i, 0)), k), m * k);
            MatrixStack b = new MatrixStack(Matrix.of(dtype, elements(arena, dtype, count * k * n,
                i -> number(dtype, 2, i, 0)), k).transpose(), k * n);
            MemorySegment result = elements(arena, kind.result, count * m * n, i -> GUARD);
            MatrixStack c = new MatrixStack(Matrix.of(kind.result, result, n), m * n);
            StackedMatmul.Key key = new StackedMatmul.Key(new StackedMatmul.Extents(count, m, n, k),
                StackedMatmul.Layout.of(a), StackedMatmul.Layout.of(b), StackedMatmul.Layout.of(c), factor);
            try (StackedMatmul products = new PanelStackedMatmul(key, kind.set, scratch)) {
                products.run(1, c, a, b);
            }
            for (int i = 0; i < count * m * n; i++) {
                int matrix = i / (m * n);
                double sum = 0;
                for (int l = 0; l < k; l++) {
                    sum += (double) number(dtype, 1, i / n * k + l, 0)
                        * number(dtype, 2, (matrix * n + i % n) * k + l, 0);
                }
                assertEquals(factor * sum, element(kind.result, result, i),
                    factor * k * EPSILON * k + rounding(kind.result, factor * sum));
            }
        }
    }

    private record Case(Kind kind, Form form, Finish finish, int m, int n, int k, boolean aTransposed,
        boolean bTransposed) {
        void check() {
            float[] c = run();
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) {
                    double sum = finish == Finish.ADD ? GUARD : finish == Finish.ADD_BIAS ? bias(j) : 0;
                    for (int l = 0; l < k; l++) {
                        sum += (double) left(i, l) * right(l, j);
                    }
                    assertEquals(sum, c[i * (n + GAP) + j], (k + GUARD) * EPSILON * (k + 2)
                        + rounding(kind.result, sum), "(" + i + ", " + j + ") of " + this);
                }
                for (int j = n; j < n + GAP; j++) {
                    assertEquals(GUARD, c[i * (n + GAP) + j], "beside row " + i + " of " + this);
                }
            }
        }

        /** Computes c, with rows that are {@link #GAP} apart. */
        float[] run() {
            try (Arena arena = Arena.ofConfined(); PackingScratch scratch = new PackingScratch(2)) {
                MemorySegment result = elements(arena, kind.result, m * (n + GAP), i -> GUARD);
                MemorySegment bias = elements(arena, kind.result, n, Case::bias);
                Matrix a = matrix(arena, kind.operands, m, k, aTransposed, this::left);
                Matrix b = matrix(arena, kind.operands, k, n, bTransposed, this::right);
                Matrix c = Matrix.of(kind.result, result, n + GAP);
                Packing.Key right = new Packing.Key(kind.operands, kind.result, m, n, k, b.stride(), bTransposed);
                try (Packing packing = new PanelPacking(right, kind.set);
                    Matmul product = new PanelMatmul(new Matmul.Key(right, form, m, a.stride(), aTransposed, c.stride(),
                        finish), kind.set, 1, scratch)) {
                    MemorySegment packed =
                        elements(arena, DType.F32, (int) packing.bytes() / Float.BYTES, i -> Float.NaN);
                    packing.pack(1, packed.address(), b);
                    product.run(1, c, a, form == Form.PACKED ? packed.address() : b.address(), bias.address());
                }
                float[] found = new float[m * (n + GAP)];
                for (int i = 0; i < found.length; i++) {
                    found[i] = element(kind.result, result, i);
                }
                return found;
            }
        }

        private static float bias(int column) {
            return column % GUARD + 0.5f;
        }

        private float left(int row, int term) {
            return number(kind.operands, 1, row, term);
        }

        private float right(int term, int column) {
            return number(kind.operands, 2, term, column);
        }
    }

    private static float number(DType dtype, long seed, int row, int column) {
        float number = (float) (2 * Philox.uniform(Philox.Key.of(seed, "panels"), row * 1000L + column) - 1);
        return dtype == DType.F32 ? number : Float.intBitsToFloat(Float.floatToRawIntBits(number) & 0xFFFF_0000);
    }

    /** Half of the distance of two numbers of this type, in excess of that of F32. */
    private static double rounding(DType dtype, double number) {
        return dtype == DType.F32 ? 0 : 0x1p-8 * Math.abs(number);
    }

    @FunctionalInterface
    private interface Element {
        float at(int row, int column);
    }

    @FunctionalInterface
    private interface Number {
        float at(int index);
    }

    private static MemorySegment elements(Arena arena, DType dtype, int count, Number number) {
        MemorySegment elements = arena.allocate((long) count * dtype.bytes(), CpuWorkspace.CACHE_LINE);
        for (int i = 0; i < count; i++) {
            if (dtype == DType.F32) {
                elements.setAtIndex(ValueLayout.JAVA_FLOAT, i, number.at(i));
            } else {
                elements.setAtIndex(ValueLayout.JAVA_SHORT, i,
                    (short) (Float.floatToRawIntBits(number.at(i)) >>> Short.SIZE));
            }
        }
        return elements;
    }

    private static float element(DType dtype, MemorySegment elements, int index) {
        return dtype == DType.F32 ? elements.getAtIndex(ValueLayout.JAVA_FLOAT, index)
            : Float.intBitsToFloat(elements.getAtIndex(ValueLayout.JAVA_SHORT, index) << Short.SIZE);
    }

    /** A matrix in rows with a gap of NaN behind each. */
    private static Matrix matrix(Arena arena, DType dtype, int rows, int columns, boolean transposed, Element element) {
        int length = transposed ? rows : columns;
        int stride = length + GAP;
        Matrix matrix = Matrix.of(dtype, elements(arena, dtype, (transposed ? columns : rows) * stride, i -> {
            int stored = i / stride;
            int within = i % stride;
            return within >= length ? Float.NaN
                : transposed ? element.at(within, stored) : element.at(stored, within);
        }), stride);
        return transposed ? matrix.transpose() : matrix;
    }

    @ParameterizedTest
    @EnumSource
    void codeReturnsItsResult(Kind kind) {
        kind.requireSupport();
        Assembler to = new Assembler(kind.set);
        to.move(Assembler.RAX, 42);
        to.ret();
        try (MachineCode code = new MachineCode(to.bytes())) {
            assertEquals(42, code.run(0, 0, 0, 0, 0, 0));
        }
    }
}
