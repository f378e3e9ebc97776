package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cpu.attention.AttentionReference;
import org.isobar.backend.cuda.ops.AttentionFixture.Inputs;
import org.isobar.backend.cuda.ops.AttentionFixture.Results;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attention of every type and size of head against whole matrices in double precision. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("cuda")
class CudaAttentionTest {
    /** A type of operands, and how single precision is multiplied. */
    private record Kind(DType dtype, SinglePrecision single) {
        static final List<Kind> ALL = List.of(new Kind(DType.F32, SinglePrecision.FULL),
            new Kind(DType.F32, SinglePrecision.TF32), new Kind(DType.F16, SinglePrecision.TF32),
            new Kind(DType.BF16, SinglePrecision.TF32));

        AttentionFixture open(QueryGradient gradient) {
            return new AttentionFixture(dtype, single, gradient);
        }

        /** Largest relative error of one rounding to what is multiplied or stored. */
        double roundoff() {
            return switch (dtype) {
                case BF16 -> 0x1p-8;
                case F16 -> 0x1p-11;
                default -> single == SinglePrecision.TF32 ? 0x1p-11 : 0x1p-24;
            };
        }
    }

    /** Every kind with heads of 48 and 128 channels, of one and two row tiles to a warp; other heads in one kind. */
    static Stream<Arguments> kindsAndSomeHeads() {
        return kindsAndHeads().filter(one -> {
            int headDim = (int) one.get()[1];
            return headDim == 48 || headDim == 128
                || one.get()[0].equals(Kind.ALL.get(AttentionKernels.HEAD_DIMS.indexOf(headDim) % Kind.ALL.size()));
        });
    }

    static Stream<Arguments> kindsAndHeads() {
        List<Arguments> cases = new ArrayList<>();
        for (Kind kind : Kind.ALL) {
            for (int headDim : AttentionKernels.HEAD_DIMS) {
                cases.add(Arguments.of(kind, headDim));
            }
        }
        return cases.stream();
    }

    @ParameterizedTest
    @MethodSource("kindsAndSomeHeads")
    void bothDirectionsAreThoseOfDoublePrecision(Kind kind, int headDim) {
        AttentionShape shape = new AttentionShape(2, 67, 131, 2, headDim);
        check(kind, QueryGradient.DETERMINISTIC, shape, dropout(shape, 0.3, 1), 1);
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("kindsAndHeads")
    void allHeadsOfAllKinds(Kind kind, int headDim) {
        bothDirectionsAreThoseOfDoublePrecision(kind, headDim);
    }

    /** Devices of compute capability 8.0 and those with little shared memory have other tiles than 9.0. */
    @ParameterizedTest
    @CsvSource({"80", "86"})
    void tilesOfOtherDevices(int capability) {
        checkTiles(capability, new Kind(DType.BF16, SinglePrecision.TF32), 128, QueryGradient.DETERMINISTIC, 0);
    }

    /** The only kernel of compute capability 10.0 with tiles of its own has blocks of one warp. */
    @Test
    void aBlockMayHaveOneWarp() {
        checkTiles(100, new Kind(DType.F32, SinglePrecision.FULL), 128, QueryGradient.ATOMIC, 0.3);
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("kindsAndHeads")
    void allTilesOfOtherDevices(Kind kind, int headDim) {
        for (int capability : new int[] {80, 86}) {
            for (double probability : new double[] {0, 0.3}) {
                checkTiles(capability, kind, headDim, QueryGradient.DETERMINISTIC, probability);
            }
        }
    }

    private static void checkTiles(int capability, Kind kind, int headDim, QueryGradient gradient,
        double probability) {
        AttentionShape shape = new AttentionShape(1, 67, 131, 2, headDim);
        try (AttentionFixture gpu = AttentionFixture.withTilesOf(capability, kind.dtype(), kind.single(), gradient)) {
            Inputs inputs = gpu.inputs(shape, dropout(shape, probability, 1), 1, 1);
            assertClose(kind, inputs, gpu.run(inputs), 1);
        }
    }

    /** Three blocks of keys of each of two heads; the simulated machine runs blocks in another order each time. */
    @ParameterizedTest
    @ValueSource(ints = {96, 128})
    void bitsDoNotDependOnTheOrderOfBlocks(int headDim) {
        Kind kind = new Kind(DType.BF16, SinglePrecision.TF32);
        try (AttentionFixture gpu = kind.open(QueryGradient.DETERMINISTIC)) {
            Inputs inputs = gpu.inputs(new AttentionShape(1, 130, 300, 2, headDim), Dropout.NONE, 1, 1);
            Results first = gpu.run(inputs);
            assertClose(kind, inputs, first, 1);
            for (int i = 0; i < 3; i++) {
                Results again = gpu.run(inputs);
                assertArrayEquals(first.dq(), again.dq());
                assertArrayEquals(first.dkv(), again.dkv());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 300", "300, 1", "15, 17", "16, 64", "63, 65", "64, 128", "65, 63", "127, 129", "128, 16",
        "129, 127", "257, 33"})
    void tokensNeedNotFillTiles(int queries, int keys) {
        for (QueryGradient gradient : QueryGradient.values()) {
            check(new Kind(DType.BF16, SinglePrecision.TF32), gradient,
                new AttentionShape(1, queries, keys, 1, 48), Dropout.NONE, 1);
        }
        check(new Kind(DType.BF16, SinglePrecision.TF32), QueryGradient.DETERMINISTIC,
            new AttentionShape(1, queries, keys, 1, 128), Dropout.NONE, 1);
    }

    /** Every kind with heads of 48 channels, one with those of 128; the contract has all others without dropout. */
    @ParameterizedTest
    @MethodSource("kindsAndHeads")
    void theGradientOfQueriesMayBeAddedUpAtomically(Kind kind, int headDim) {
        if (headDim == 48 || headDim == 128 && kind.dtype() == DType.BF16) {
            addedUpAtomically(kind, headDim);
        }
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("kindsAndHeads")
    void allGradientsOfQueriesMayBeAddedUpAtomically(Kind kind, int headDim) {
        addedUpAtomically(kind, headDim);
    }

    private static void addedUpAtomically(Kind kind, int headDim) {
        AttentionShape shape = new AttentionShape(1, 130, 150, 2, headDim);
        check(kind, QueryGradient.ATOMIC, shape, dropout(shape, 0.3, 1), 1);
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "12, 0.25", "20, 0", "160, 0.5"})
    void headsOfAnySize(int headDim, double probability) {
        for (Kind kind : Kind.ALL) {
            AttentionShape shape = new AttentionShape(2, 35, 45, 2, headDim);
            check(kind, QueryGradient.DETERMINISTIC, shape, dropout(shape, probability, 1), 1);
        }
    }

    @ParameterizedTest
    @CsvSource({"48", "128"})
    void keysMayLieScatteredInTheMask(int headDim) { // one and two row tiles to a warp
        AttentionShape shape = new AttentionShape(1, 70, 90, 2, headDim);
        Kind kind = new Kind(DType.BF16, SinglePrecision.TF32);
        check(kind, QueryGradient.DETERMINISTIC, shape, dropout(shape, 0.5, 3), 1);
    }

    @Test
    void scoresMayBeFarBeyondTheRangeOfTheExponential() {
        AttentionShape shape = new AttentionShape(1, 40, 300, 1, 48);
        for (Kind kind : Kind.ALL) {
            check(kind, QueryGradient.DETERMINISTIC, shape, Dropout.NONE, 60);
        }
    }

    @Test
    void tensorsNeedNotBeAligned() {
        AttentionShape shape = new AttentionShape(1, 20, 30, 1, 32);
        Kind kind = new Kind(DType.F16, SinglePrecision.TF32);
        try (AttentionFixture gpu = kind.open(QueryGradient.DETERMINISTIC)) {
            Inputs inputs = gpu.shifted(1).inputs(shape, Dropout.NONE, 1, 1);
            assertClose(kind, inputs, gpu.run(inputs), 1);
        }
    }

    @Test
    void theSameBitsEachTime() {
        AttentionShape shape = new AttentionShape(1, 200, 150, 2, 48);
        try (AttentionFixture gpu = new Kind(DType.BF16, SinglePrecision.TF32).open(QueryGradient.DETERMINISTIC)) {
            Inputs inputs = gpu.inputs(shape, dropout(shape, 0.1, 1), 1, 1);
            Results first = gpu.run(inputs);
            Results second = gpu.run(inputs);
            assertArrayEquals(first.out(), second.out());
            assertArrayEquals(first.lse(), second.lse());
            assertArrayEquals(first.dq(), second.dq());
            assertArrayEquals(first.dkv(), second.dkv());
        }
    }

    /** The loss scaler looks at the gradients: what does not fit into half precision must be seen there. */
    @Test
    void anOverflowReachesTheGradients() {
        AttentionShape shape = new AttentionShape(1, 64, 2, 1, 128);
        try (AttentionFixture gpu = new Kind(DType.F16, SinglePrecision.TF32).open(QueryGradient.DETERMINISTIC)) {
            Inputs inputs = gpu.inputs(shape, Dropout.NONE, 1, 12_000);
            assertTrue(isFinite(inputs.dOut()));
            Results results = gpu.run(inputs);
            assertTrue(isFinite(results.out()));
            assertFalse(isFinite(results.dq()));
            assertFalse(isFinite(results.dkv()));
        }
    }

    private static boolean isFinite(float[] values) {
        for (float value : values) {
            if (!Float.isFinite(value)) {
                return false;
            }
        }
        return true;
    }

    /** The local samples, heads, queries and keys lie scattered in a larger tensor, as on one of several ranks. */
    private static Dropout dropout(AttentionShape shape, double probability, int keyStep) {
        return new Dropout(probability, new Philox.Key(7, 3), List.of(new IndexSpan(1, 1, shape.batch() + 1),
            new IndexSpan(1, 1, shape.heads() + 2), new IndexSpan(5, 2, 2 * shape.queries() + 9),
            new IndexSpan(3, keyStep, keyStep * shape.keys() + 6)));
    }

    private static void check(Kind kind, QueryGradient gradient, AttentionShape shape, Dropout dropout,
        double spread) {
        try (AttentionFixture gpu = kind.open(gradient)) {
            Inputs inputs = gpu.inputs(shape, dropout, spread, 1);
            assertClose(kind, inputs, gpu.run(inputs), spread);
        }
    }

    /**
     * Weights, slopes and what is stored are rounded to the type, in single precision the operands: at most twice a
     * roundoff in norm, for signs are random. All else adds up in single precision. Scores that are {@code spread}
     * times greater have errors so much greater, and with them their exponentials and the gradients.
     */
    private static void assertClose(Kind kind, Inputs inputs, Results actual, double spread) {
        AttentionShape shape = inputs.shape();
        double sums = 0x1p-24 * (shape.headDim() + Math.max(shape.queries(), shape.keys()) + 8);
        double tolerance = 2 * kind.roundoff() + spread * sums;
        AttentionReference expected = inputs.reference();
        String what = kind + " " + shape + ": ";
        AttentionReference.assertClose(what + "out", expected.out(), actual.out(), tolerance);
        AttentionReference.assertClose(what + "lse", expected.lse(), actual.lse(), tolerance);
        AttentionReference.assertClose(what + "dq", expected.dq(), actual.dq(), spread * tolerance);
        AttentionReference.assertClose(what + "dkv", expected.dkv(), actual.dkv(), spread * tolerance);
    }
}
