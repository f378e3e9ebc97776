package org.isobar.backend.cpu.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.Stream;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.reorder;
import org.isobar.backend.cpu.CpuFixture;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Packed products against sums in double precision. */
final class MatmulTest {
    private static final int WORKERS = 2;

    private static Stream<Arguments> shapes() {
        return CpuFixture.TYPES.stream().flatMap(dtype -> Stream.of(new int[] {1, 1, 1}, new int[] {3, 5, 7},
            new int[] {64, 192, 48}, new int[] {70, 33, 65}, new int[] {50, 48, 256}, new int[] {256, 32, 63},
            new int[] {20, 40, 300})
            .flatMap(mnk -> Stream.of(false, true).map(transposed -> Arguments.of(dtype, mnk, transposed))));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void productsAreThoseOfDoublePrecision(DType dtype, int[] mnk, boolean transposed) {
        try (Arena arena = Arena.ofShared(); MatmulCache matmuls = matmuls()) {
            int m = mnk[0];
            int n = mnk[1];
            int k = mnk[2];
            Matrix a = matrix(arena, dtype, m, k, transposed, 1);
            Matrix b = matrix(arena, dtype, k, n, transposed, 2);
            Matrix c = matrix(arena, DType.F32, m, n, false, 3);
            double[] expected = new double[m * n];
            for (int i = 0; i < m; i++) {
                for (int j = 0; j < n; j++) {
                    for (int l = 0; l < k; l++) {
                        expected[i * n + j] += value(a, i, l) * value(b, l, j);
                    }
                }
            }
            Packing packing = matmuls.packing(b, k, n, 64, DType.F32);
            MemorySegment packed = arena.allocate(packing.bytes(), CpuWorkspace.CACHE_LINE);
            for (int worker = 0; worker < WORKERS; worker++) {
                packing.pack(worker, packed.address(), b);
                matmuls.matmul(packing, m, a, c, Matmul.Finish.OVERWRITE).run(worker, c, a, packed.address());
                assertClose(expected, 1, c, n, k);
                matmuls.matmul(packing, m, a, c, Matmul.Finish.ADD).run(worker, c, a, packed.address());
                assertClose(expected, 2, c, n, k);
            }
        }
    }

    @Test
    void workersComputeTheSameBitsAtATime() {
        try (Arena arena = Arena.ofShared(); MatmulCache matmuls = matmuls(); WorkerPool pool =
            new WorkerPool(WORKERS)) {
            int side = 96;
            int tasks = 64;
            DType dtype = CpuFixture.TYPES.getLast();
            Matrix a = matrix(arena, dtype, side, side, false, 1);
            Matrix b = matrix(arena, dtype, side, side, true, 2);
            MemorySegment c = arena.allocate((long) tasks * side * side * Float.BYTES, CpuWorkspace.CACHE_LINE);
            Packing packing = matmuls.packing(b, side, side, side, DType.F32);
            long packed = arena.allocate(packing.bytes(), CpuWorkspace.CACHE_LINE).address();
            packing.pack(0, packed, b);
            Matmul matmul = matmuls.matmul(packing, side, a, Matrix.of(c, side), Matmul.Finish.OVERWRITE);
            pool.run(tasks, (worker, task) ->
                matmul.run(worker, Matrix.of(c, side).at((long) task * side, 0), a, packed));
            long bytes = c.byteSize() / tasks;
            for (int task = 1; task < tasks; task++) {
                assertEquals(-1, c.asSlice(0, bytes).mismatch(c.asSlice(task * bytes, bytes)));
            }
        }
    }

    @Test
    void whatFailsHalfWayIsClosed() {
        OneDnn.load();
        try (engine cpu = new engine(engine.kind.cpu, 0);
            memory.desc plain = OneDnn.plain(DType.F32, 4, 4, 4, false);
            memory.desc any = OneDnn.any(DType.F32, 4, 4);
            primitive_attr attributes = OneDnn.attributes();
            reorder.primitive_desc copy = new reorder.primitive_desc(cpu, plain, cpu, plain, attributes, false)) {
            reorder compiled = new reorder(copy);
            assertThrows(RuntimeException.class, () -> new Primitive(compiled, copy, cpu, WORKERS,
                new Primitive.Argument(OneDnn.FROM, plain), new Primitive.Argument(OneDnn.TO, any))); // no memory is so
            assertTrue(compiled.isNull());
        }
    }

    private static MatmulCache matmuls() {
        return new MatmulCache(WORKERS);
    }

    /** Seeded numbers from -1 to 1 in rows with a gap behind them; addresses hold, for the arena outlives them. */
    private static Matrix matrix(Arena arena, DType dtype, int rows, int columns, boolean transposed, int seed) {
        int stride = (transposed ? rows : columns) + 3;
        int stored = (transposed ? columns : rows) * stride;
        MemorySegment memory = arena.allocate((long) stored * dtype.bytes(), CpuWorkspace.CACHE_LINE);
        Philox.Key key = Philox.Key.of(seed, "matmul");
        for (int i = 0; i < stored; i++) {
            double value = 2 * Philox.uniform(key, i) - 1;
            if (dtype == DType.F32) {
                memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) value);
            } else {
                memory.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) dtype.bits(value));
            }
        }
        Matrix matrix = Matrix.of(dtype, memory, stride);
        return transposed ? matrix.transpose() : matrix;
    }

    @SuppressWarnings("restricted") // matrices are addresses
    private static double value(Matrix matrix, long row, long column) {
        Matrix element = matrix.at(row, column);
        MemorySegment memory = MemorySegment.ofAddress(element.address()).reinterpret(element.dtype().bytes());
        return element.dtype() == DType.F32 ? memory.get(ValueLayout.JAVA_FLOAT, 0)
            : Float.intBitsToFloat(memory.get(ValueLayout.JAVA_SHORT, 0) << Short.SIZE);
    }

    /** Operands are as they are stored; sums of k terms, each at most 1, are rounded once for each term. */
    private static void assertClose(double[] expected, int times, Matrix c, int n, int k) {
        for (int i = 0; i < expected.length; i++) {
            assertEquals(times * expected[i], value(c, i / n, i % n), times * (k + 1.0) * CpuFixture.EPSILON * k);
        }
    }
}
