package org.isobar.backend.cpu.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

import org.isobar.backend.cpu.FloatBits;
import org.isobar.backend.cpu.generated.AdamCode;
import org.isobar.backend.cpu.generated.ArrayCode;
import org.isobar.backend.cpu.generated.FiniteCode;
import org.isobar.backend.cpu.generated.GeluCode;
import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.LayerNormCode;
import org.isobar.backend.cpu.generated.LossCode;
import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.generated.RunCode;
import org.isobar.backend.cpu.generated.RunCode.Runs;
import org.isobar.backend.cpu.vector.AdamFactors;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.ops.WriteMode;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The operations in machine code have the bits of the loops in Java. */
final class GeneratedLoopsTest {
    private static final float FACTOR = 0.7f;
    private static final int LANES = Lanes.WIDTH;
    private static final int COUNT = 5 * LANES;
    private static final int PAIRS = 4 * LANES;
    private static final float[] SPECIAL = {0, -0.0f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY,
        Float.MIN_VALUE, -Float.MIN_VALUE, Float.MAX_VALUE, -Float.MAX_VALUE, -13.164f, 13.164f, 1e-20f, 6, -6};

    private final Arena arena = Arena.ofConfined();

    @BeforeAll
    static void onlyWhereTheyAreUsed() {
        assumeTrue(GeneratedCode.hasLoops(DType.F32));
    }

    @AfterEach
    void free() {
        arena.close();
    }

    @Test
    void gelu() {
        MemorySegment x = numbers("x");
        MemorySegment expected = results();
        MemorySegment y = results();
        VectorGelu.forward(expected, Lanes.slice(x, 0, PAIRS), 0);
        assertEquals(PAIRS, GeluCode.forward(part(y), x));
        assertSameBits(expected, y);
    }

    @Test
    void gradientOfGelu() {
        MemorySegment x = numbers("x");
        MemorySegment dy = numbers("dy");
        MemorySegment[] expected = {results(), results()};
        MemorySegment[] found = {results(), results()};
        VectorGelu.backward(expected[0], expected[1], dy, Lanes.slice(x, 0, PAIRS), 0);
        assertEquals(PAIRS, GeluCode.backward(part(found[0]), part(found[1]), dy, x));
        assertSameBits(expected[0], found[0]);
        assertSameBits(expected[1], found[1]);
    }

    @Test
    void sumsAndProducts() {
        MemorySegment x = numbers("x");
        MemorySegment y = numbers("y");
        MemorySegment expected = results();
        MemorySegment found = results();
        CpuResidual.addScaled(part(expected), x, y, FACTOR, 0);
        assertEquals(COUNT, ArrayCode.addScaled(part(found), x, y, FACTOR));
        assertSameBits(expected, found);
        CpuProducts.add(part(expected), x, 0);
        assertEquals(COUNT, ArrayCode.add(part(found), x));
        assertSameBits(expected, found);
        CpuResidual.scale(part(expected), x, FACTOR, 0);
        assertEquals(COUNT, ArrayCode.scale(part(found), x, FACTOR));
        assertSameBits(expected, found);
        CpuLoss.scaledDifference(part(expected), x, y, FACTOR, 0);
        assertEquals(COUNT, ArrayCode.scaledDifference(part(found), x, y, FACTOR));
        assertSameBits(expected, found);
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32, 48})
    void runsOfBytes(int bytes) {
        MemorySegment x = numbers("x");
        MemorySegment expected = results();
        MemorySegment found = results();
        Runs from = new Runs(x, bytes);
        PatchRow.copy(new Runs(expected.asSlice(4), bytes + 16), from, 3, bytes);
        Runs apart = new Runs(found.asSlice(4), bytes + 16);
        RunCode.copy(apart, from, 3, bytes);
        assertSameBits(expected, found);
        MemorySegment back = results();
        RunCode.copy(new Runs(back, bytes), apart, 3, bytes);
        assertEquals(-1, x.asSlice(0, 3L * bytes).mismatch(back.asSlice(0, 3L * bytes)));
        assertThrows(IndexOutOfBoundsException.class, () -> RunCode.copy(apart, new Runs(x, x.byteSize()), 2, bytes));
        assertThrows(IndexOutOfBoundsException.class, () -> RunCode.copy(new Runs(x, x.byteSize()), from, 2, bytes));
    }

    @Test
    void numbersThatAreNotFinite() {
        for (int count : new int[] {0, 1, LANES, COUNT, COUNT - 1}) {
            MemorySegment x = Lanes.slice(finite("x", COUNT), 0, count);
            assertTrue(FiniteCode.areFinite(x));
            for (int i = 0; i < count; i++) {
                float finite = x.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                for (float other : SPECIAL) {
                    x.setAtIndex(ValueLayout.JAVA_FLOAT, i, other);
                    assertEquals(Float.isFinite(other), FiniteCode.areFinite(x), i + " of " + count + ": " + other);
                }
                x.setAtIndex(ValueLayout.JAVA_FLOAT, i, finite);
            }
        }
    }

    /** Only the given part changes. */
    @Test
    void normalization() {
        MemorySegment x = numbers("x");
        MemorySegment y = results();
        MemorySegment expected = results();
        for (int i = 0; i < COUNT; i++) {
            expected.setAtIndex(ValueLayout.JAVA_FLOAT, i + 1, (x.getAtIndex(ValueLayout.JAVA_FLOAT, i) - FACTOR) / 3);
        }
        assertEquals(COUNT, ArrayCode.normalize(y, Float.BYTES, x, COUNT, FACTOR, 3));
        assertSameBits(expected, y);
        assertThrows(IndexOutOfBoundsException.class, () -> ArrayCode.normalize(x, Float.BYTES, y, COUNT, FACTOR, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> ArrayCode.normalize(y, 0, x, COUNT + 1, FACTOR, 3));
    }

    /** Only whole pairs of vectors are computed, however many there are. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33})
    void theRestIsLeft(int count) {
        MemorySegment x = Lanes.slice(numbers("x"), 0, count);
        MemorySegment y = results();
        int computed = count / (2 * LANES) * (2 * LANES);
        assertEquals(computed, GeluCode.forward(Lanes.slice(y, 0, count), x));
        for (int i = 0; i < Lanes.count(y); i++) {
            assertEquals(i >= computed, y.getAtIndex(ValueLayout.JAVA_FLOAT, i) == -1, i + " of " + count);
        }
    }

    @Test
    void adam() {
        AdamFactors factors = new AdamFactors(0.9f, 0.1f, 0.95f, 0.05f, -0.01f, 0.3f, 1e-8f, 0.5f);
        MemorySegment gradient = numbers("gradient");
        MemorySegment[] expected = {numbers("parameter"), numbers("moment 1"), squares("moment 2")};
        MemorySegment[] found = {guarded("parameter"), guarded("moment 1"), guarded("moment 2")};
        MemorySegment.copy(expected[2], 0, found[2], 0, expected[2].byteSize());
        new CpuUpdate.AdamUpdate(factors).run(expected[0], gradient, expected[1], expected[2], 0);
        assertEquals(COUNT, AdamCode.update(part(found[0]), gradient, part(found[1]), part(found[2]), factors));
        for (int i = 0; i < found.length; i++) {
            assertSameBits(expected[i], part(found[i]));
            assertGuarded(found[i]);
        }
    }

    private MemorySegment squares(String name) {
        MemorySegment squares = finite(name, COUNT);
        for (int i = 0; i < COUNT; i++) {
            float number = squares.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            squares.setAtIndex(ValueLayout.JAVA_FLOAT, i, number * number);
        }
        return squares;
    }

    /** {@link #numbers} in a larger array. */
    private MemorySegment guarded(String name) {
        MemorySegment guarded = results();
        MemorySegment.copy(numbers(name), 0, guarded, 0, (long) COUNT * Float.BYTES);
        return guarded;
    }

    private static void assertGuarded(MemorySegment results) {
        for (int i = COUNT; i < Lanes.count(results); i++) {
            assertEquals(-1, results.getAtIndex(ValueLayout.JAVA_FLOAT, i));
        }
    }

    @Test
    void resultsMayReplaceOperands() {
        MemorySegment[] expected = {numbers("dy"), numbers("x")};
        MemorySegment[] found = {numbers("dy"), numbers("x")};
        VectorGelu.backward(expected[0], expected[1], expected[0], Lanes.slice(expected[1], 0, PAIRS), 0);
        GeluCode.backward(found[0], found[1], found[0], found[1]);
        assertSameBits(expected[0], found[0]);
        assertSameBits(expected[1], found[1]);
        CpuResidual.addScaled(expected[0], expected[0], numbers("term"), FACTOR, 0);
        ArrayCode.addScaled(found[0], found[0], numbers("term"), FACTOR);
        assertSameBits(expected[0], found[0]);
    }

    @Test
    void shorterMemoryIsRefused() {
        MemorySegment x = finite("x", COUNT);
        MemorySegment shorter = finite("y", COUNT - 1);
        assertThrows(IndexOutOfBoundsException.class, () -> GeluCode.forward(shorter, x));
        RowCode.Rows rows = new RowCode.Rows(x, DType.F32, LANES);
        RowCode.Rows cut = new RowCode.Rows(shorter, DType.F32, LANES);
        assertThrows(IndexOutOfBoundsException.class, () -> RowCode.dot(x, rows, cut, 5, LANES));
        assertThrows(IndexOutOfBoundsException.class, () -> RowCode.dot(x, cut, rows, 5, LANES));
        assertThrows(IndexOutOfBoundsException.class,
            () -> RowCode.dot(shorter, new RowCode.Rows(x, DType.F32, 0), new RowCode.Rows(x, DType.F32, 0), COUNT,
                LANES));
        assertThrows(IndexOutOfBoundsException.class, () -> RowCode.scale(cut, rows, rows, 5, LANES));
        assertThrows(IndexOutOfBoundsException.class, () -> RowCode.scale(rows, cut, rows, 5, LANES));
        assertThrows(IndexOutOfBoundsException.class,
            () -> RowCode.scale(rows, rows, new RowCode.Rows(x, DType.F32, 2 * LANES), 5, LANES));
        assertThrows(IndexOutOfBoundsException.class, () -> LossCode.squaredDistance(x, shorter));
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 8, 22, 40})
    void squares(int count) {
        MemorySegment x = Lanes.slice(finite("x", COUNT), 0, count);
        MemorySegment y = Lanes.slice(finite("y", COUNT), 0, count);
        int summed = LossCode.summed(x);
        assertEquals(count / Lanes.F64.length() * Lanes.F64.length(), summed);
        assertEquals(CpuLoss.squaredDistance(x, y, 0, 0),
            CpuLoss.squaredDistance(x, y, summed, LossCode.squaredDistance(x, y)));
        assertEquals(CpuLoss.squaredNorm(x, 0, 0), CpuLoss.squaredNorm(x, summed, LossCode.squaredNorm(x)));
    }

    /** The rows before and after stay as they are. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 12})
    void layerNorm(int vectors) {
        int width = vectors * LANES;
        int end = 3;
        NormalizedRows expected = rows(end + 1, width);
        NormalizedRows found = rows(end + 1, width);
        expected.measureInJava(1, end);
        LayerNormCode.measure(found.x(1, end).address(), end - 1, width, found.means().address() + Float.BYTES,
            found.invStds().address() + Float.BYTES);
        assertSameBits(expected.means(), found.means());
        assertSameBits(expected.invStds(), found.invStds());
        expected.normalizeInJava(expected.y().elements(width, (long) end * width), expected.x(1, end), 1, end - 1);
        found.normalize(0, 1, end);
        assertSameBits(expected.y().memory(), found.y().memory());
    }

    private NormalizedRows rows(int rows, int width) {
        return new NormalizedRows(new FloatView(finite("y", rows * width), DType.F32), finite("x", rows * width),
            finite("means", rows), finite("stds", rows), finite("gamma", width), finite("beta", width),
            new WorkerScratch(MemorySegment.NULL, 1, 0));
    }

    @ParameterizedTest
    @EnumSource(WriteMode.class)
    void gradientsOfLayerNorm(WriteMode write) {
        int end = 4;
        for (int width : new int[] {LANES, 3 * LANES, 192}) {
            MemorySegment expectedSums = finite("sums", 3 * width);
            MemorySegment sums = finite("sums", 3 * width);
            LayerNormGradientRows expected = gradients(write, end + 1, width);
            LayerNormGradientRows found = gradients(write, end + 1, width);
            expected.runInJava(Lanes.slice(expected.dxs(), width, (long) end * width),
                expected.dys().elements(width, (long) end * width),
                Lanes.slice(expected.xs(), width, (long) end * width), 1, end - 1, expectedSums);
            found.run(0, 1, end, sums);
            assertSameBits(expected.dxs(), found.dxs());
            assertSameBits(expectedSums, sums);
        }
    }

    private LayerNormGradientRows gradients(WriteMode write, int rows, int width) {
        return new LayerNormGradientRows(finite("dx", rows * width),
            new FloatView(finite("dy", rows * width), DType.F32), finite("x", rows * width), finite("means", rows),
            finite("stds", rows), finite("gamma", width), write, new WorkerScratch(MemorySegment.NULL, 1, 0));
    }

    /** Random numbers, with special ones among them. */
    private MemorySegment numbers(String name) {
        MemorySegment numbers = finite(name, COUNT);
        for (int i = 0; i < SPECIAL.length; i++) {
            numbers.setAtIndex(ValueLayout.JAVA_FLOAT, (name.hashCode() & 1) + 2 * i, SPECIAL[i]);
        }
        return numbers;
    }

    private MemorySegment finite(String name, int count) {
        return arena.allocateFrom(ValueLayout.JAVA_FLOAT, Philox.normals(Philox.Key.of(7, name), count, 3));
    }

    /** Room for results, and one more vector, that no operation may change. */
    private MemorySegment results() {
        MemorySegment results = arena.allocate((COUNT + LANES) * Float.BYTES, Float.BYTES);
        IntStream.range(0, COUNT + LANES).forEach(i -> results.setAtIndex(ValueLayout.JAVA_FLOAT, i, -1));
        return results;
    }

    private static MemorySegment part(MemorySegment results) {
        return Lanes.slice(results, 0, COUNT);
    }

    /** Compares bits, except those of NaN. */
    private static void assertSameBits(MemorySegment expected, MemorySegment found) {
        assertArrayEquals(FloatBits.of(expected), FloatBits.of(found));
    }
}
