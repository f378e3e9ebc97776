package org.isobar.optim;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.LossScaling;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Shard;
import org.isobar.nn.Initializer;
import org.isobar.nn.Layout;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Steps of the optimizer, and what scaled losses do to them: PyTorch's {@code GradScaler}, decided on the device. */
class AdamTest {
    private static final GradScaler SCALED = new GradScaler(1024, new LossScaling(2, 0.5, 3));

    @Test
    void startsAsPyTorchDoes() {
        assertEquals(new GradScaler(65536, new LossScaling(2, 0.5, 2000)), GradScaler.of(DType.F16));
        assertEquals(GradScaler.NONE, GradScaler.of(DType.BF16));
        assertEquals(GradScaler.NONE, GradScaler.of(DType.F32));
        with(GradScaler.DYNAMIC, Adam.Launch.ONCE, fixture ->
            assertEquals(new Adam.Progress(0, 0, 65536), fixture.adam.progress()));
    }

    @Test
    void anOverflowSkipsTheStepAndHalvesTheScale() {
        with(SCALED, Adam.Launch.ONCE, fixture -> {
            fixture.step(1e-3, 1024);
            float[] weights = fixture.weights();
            fixture.poison(Float.POSITIVE_INFINITY);
            assertArrayEquals(weights, fixture.weights());
            assertEquals(new Adam.Progress(1, 1, 512), fixture.adam.progress());
            fixture.poison(Float.NaN);
            assertArrayEquals(weights, fixture.weights());
            assertEquals(new Adam.Progress(1, 2, 256), fixture.adam.progress());
        });
    }

    /** The learning rate goes on with the schedule; Adam's count, and so its bias correction, does not. */
    @Test
    void theStepAfterASkippedOneIsTheOneThatWasMissed() {
        float[][] weights = new float[2][];
        with(GradScaler.NONE, Adam.Launch.ONCE, fixture -> {
            fixture.step(1e-3, 1);
            fixture.step(7e-4, 1);
            weights[0] = fixture.weights();
        });
        with(SCALED, Adam.Launch.ONCE, fixture -> {
            fixture.step(1e-3, 1024);
            fixture.poison(Float.NEGATIVE_INFINITY);
            fixture.step(7e-4, 512); // a power of two: dividing by it is exact
            weights[1] = fixture.weights();
        });
        assertArrayEquals(weights[0], weights[1]);
    }

    @Test
    void theScaleDoublesAfterARowOfGoodSteps() {
        with(SCALED, Adam.Launch.ONCE, fixture -> {
            fixture.step(1e-3, 1024);
            fixture.step(1e-3, 1024);
            fixture.poison(Float.NaN); // the row begins again
            for (int i = 0; i < 3; i++) {
                assertEquals(512, fixture.adam.progress().scale());
                fixture.step(1e-3, 512);
            }
            assertEquals(new Adam.Progress(5, 1, 1024), fixture.adam.progress());
            fixture.step(1e-3, 1024);
            fixture.step(1e-3, 1024);
            assertEquals(1024, fixture.adam.progress().scale());
            fixture.step(1e-3, 1024);
            assertEquals(2048, fixture.adam.progress().scale());
        });
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void nothingMovesAfterALossThatIsNotFinite(double loss) {
        for (GradScaler scaler : List.of(GradScaler.NONE, SCALED)) {
            with(scaler, Adam.Launch.PER_TENSOR, fixture -> {
                fixture.step(1e-3, 1);
                fixture.step(1e-3, 1);
                float[] weights = fixture.weights();
                Adam.Progress progress = fixture.adam.progress();
                fixture.loss = loss;
                fixture.step(1e-3, 1);
                fixture.loss = 1;
                fixture.step(1e-3, 1);
                fixture.poison(Float.NaN);
                assertArrayEquals(weights, fixture.weights());
                assertEquals(progress, fixture.adam.progress());
            });
        }
    }

    /** What had halted goes on from what it left, and with the scale where it scales losses. */
    @Test
    void aHaltEndsWhereItsStateIsTakenUp() {
        double[][] left = new double[1][];
        with(SCALED, Adam.Launch.ONCE, fixture -> {
            fixture.step(1e-3, 1024);
            fixture.poison(Float.NaN);
            fixture.loss = Double.NaN;
            fixture.step(1e-3, 512);
            left[0] = fixture.adam.control();
        });
        for (GradScaler scaler : List.of(GradScaler.NONE, SCALED)) {
            with(scaler, Adam.Launch.ONCE, fixture -> {
                fixture.adam.setControl(left[0]);
                double scale = scaler.isActive() ? 512 : 1;
                assertEquals(new Adam.Progress(1, 1, scale), fixture.adam.progress());
                float[] weights = fixture.weights();
                fixture.step(1e-3, scale);
                assertFalse(Arrays.equals(weights, fixture.weights()));
                assertEquals(new Adam.Progress(2, 1, scale), fixture.adam.progress());
            });
        }
    }

    @Test
    void skipsWhatIsNotFinite() {
        for (GradScaler scaler : List.of(GradScaler.NONE, SCALED)) {
            with(new Adam.Options(scaler, Adam.Launch.ONCE, Adam.NonFinite.IS_SKIPPED), fixture -> {
                fixture.step(1e-3, 1);
                float[] weights = fixture.weights();
                fixture.loss = Double.NaN;
                fixture.step(1e-3, 1);
                fixture.loss = 1;
                fixture.poison(Float.NaN);
                assertArrayEquals(weights, fixture.weights());
                fixture.step(1e-3, 1);
                assertFalse(Arrays.equals(weights, fixture.weights()));
                assertEquals(2, fixture.adam.progress().taken());
                assertEquals(2, fixture.adam.progress().skipped());
            });
        }
    }

    /** Looking at gradients changes no bit of them. */
    @Test
    void skippingIsNoOtherTraining() {
        float[][] weights = new float[Adam.NonFinite.values().length][];
        for (Adam.NonFinite nonFinite : Adam.NonFinite.values()) {
            with(new Adam.Options(GradScaler.NONE, Adam.Launch.ONCE, nonFinite), fixture -> {
                fixture.step(1e-3, 1);
                fixture.step(7e-4, 1);
                weights[nonFinite.ordinal()] = fixture.weights();
            });
        }
        assertArrayEquals(weights[0], weights[1]);
    }

    @Test
    void unscaledGradientsAreNotLookedAt() {
        with(GradScaler.NONE, Adam.Launch.ONCE, fixture -> {
            fixture.poison(Float.NaN);
            assertEquals(new Adam.Progress(1, 0, 1), fixture.adam.progress());
        });
    }

    @Test
    void sumsOverReplicasUpdateLikeTheirMean() {
        for (GradScaler scaler : List.of(GradScaler.NONE, SCALED)) {
            float[][] weights = new float[2][];
            for (int replicas : new int[] {1, 4}) {
                with(new Adam.Options(scaler, Adam.Launch.ONCE), replicas, fixture -> {
                    fixture.step(1e-3, scaler.start() * replicas);
                    fixture.step(7e-4, scaler.start() * replicas);
                    weights[replicas / 4] = fixture.weights();
                });
            }
            assertArrayEquals(weights[0], weights[1]);
        }
    }

    @Test
    void oneLaunchAndOneForEachTensorGiveTheSameBits() {
        float[][] weights = new float[2][];
        for (Adam.Launch launch : Adam.Launch.values()) {
            with(SCALED, launch, fixture -> {
                float[] before = fixture.weights();
                for (int i = 0; i < 4; i++) {
                    fixture.step(1e-3 / (i + 1), 1024 << i / 3);
                }
                weights[launch.ordinal()] = fixture.weights();
                assertFalse(Arrays.equals(before, weights[launch.ordinal()]));
            });
        }
        assertArrayEquals(weights[0], weights[1]);
    }

    private static void with(GradScaler scaler, Adam.Launch launch, Consumer<Fixture> body) {
        with(new Adam.Options(scaler, launch), body);
    }

    private static void with(Adam.Options options, Consumer<Fixture> body) {
        with(options, 1, body);
    }

    private static void with(Adam.Options options, int replicas, Consumer<Fixture> body) {
        try (Device device = new CpuDevice(2); DeviceArena arena = device.arena("parameters", 1 << 21)) {
            body.accept(new Fixture(device, arena, options, replicas));
        }
    }

    /** Two parameters of odd sizes and their optimizer; gradients are random numbers, the same in each fixture. */
    private static final class Fixture {
        private final Device device;
        private final ParameterStore store = new ParameterStore();
        private final Adam adam;
        private final Tensor scores;
        private final Random random = new Random(1);
        private double loss = 1; // of the next steps

        Fixture(Device device, DeviceArena arena, Adam.Options options, int replicas) {
            this.device = device;
            Communicators alone = Communicators.alone(device.ops().memory()::copy);
            ParameterScope root = ParameterScope.root(store, Layout.of(alone, 1));
            root.declare("weight", new Initializer.Normal(1), Shard.whole(), 37, 291);
            root.declare("bias", new Initializer.Normal(1), Shard.whole(), 5);
            Tensor values = arena.f32(store.elements());
            store.bind(values, arena.f32(store.elements()));
            store.initialize(device, 3);
            scores = arena.allocate(DType.F64, 1);
            adam = new Adam(device, store, arena, options, alone.along(Axis.values()), replicas);
        }

        /** A step whose gradients come multiplied by {@code scale}. */
        void step(double learningRate, double scale) {
            float[] gradients = new float[Math.toIntExact(store.elements())];
            for (int i = 0; i < gradients.length; i++) {
                gradients[i] = (float) (scale * (float) random.nextGaussian());
            }
            step(learningRate, gradients);
        }

        /** A step of which one gradient, the last, is {@code value}. */
        void poison(float value) {
            float[] gradients = new float[Math.toIntExact(store.elements())];
            gradients[gradients.length - 1] = value;
            step(1e-2, gradients);
        }

        private void step(double learningRate, float[] gradients) {
            device.upload(store.gradients(), MemorySegment.ofArray(gradients));
            adam.setLearningRate(learningRate);
            adam.unscale();
            device.upload(scores, MemorySegment.ofArray(new double[] {loss}));
            adam.step(scores);
        }

        float[] weights() {
            float[] weights = new float[Math.toIntExact(store.elements())];
            device.download(MemorySegment.ofArray(weights), store.values());
            return weights;
        }
    }
}
