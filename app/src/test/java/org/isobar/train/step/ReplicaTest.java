package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.LossScaling;
import org.isobar.distributed.Communicators;
import org.isobar.nn.Pass;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/**
 * Tests one model on one device: steps are reproducible to the bit, reduce the loss, and do not depend on
 * evaluations.
 */
class ReplicaTest {
    private static final int BATCH = 2;
    private static final VitConfig PLAIN = new VitConfig(24, 40, 8, 3, 2, 24, 3, 4, 96, 0);
    private static final VitConfig DROPPING = new VitConfig(24, 40, 8, 3, 2, 24, 3, 4, 96, 0.2);

    @Test
    void lossFalls() {
        double[] losses = train(PLAIN, 2, 40);
        assertTrue(losses[39] < 0.8 * losses[0], losses[0] + " to " + losses[39]);
    }

    @Test
    void bitsDoNotDependOnThreads() {
        assertArrayEquals(train(DROPPING, 1, 6), train(DROPPING, 3, 6));
    }

    @Test
    void dropoutActsOnlyInTraining() {
        with(DROPPING, 2, fixture -> {
            double evaluated = fixture.replica.evaluator().evaluate(fixture.input, fixture.target).loss();
            assertEquals(evaluated, fixture.replica.evaluator().evaluate(fixture.input, fixture.target).loss());
            double first = fixture.gradients(1);
            assertNotEquals(evaluated, first);
            assertNotEquals(first, fixture.gradients(2));
            assertEquals(first, fixture.gradients(1));
            return 0;
        });
    }

    @Test
    void evaluationDoesNotDisturbTraining() {
        double quiet = with(PLAIN, 2, fixture -> fixture.step(0) + fixture.step(1));
        double disturbed = with(PLAIN, 2, fixture -> {
            double first = fixture.step(0);
            fixture.replica.evaluator().evaluate(fixture.input, fixture.target);
            return first + fixture.step(1);
        });
        assertEquals(quiet, disturbed);
    }

    /** The loss of a step does not change if it is read after later steps were issued. */
    @Test
    void lossesMayBeReadLater() {
        double[] losses = train(PLAIN, 2, 4);
        with(PLAIN, 2, fixture -> {
            Supplier<BatchLoss> late = fixture.issue(0);
            for (int step = 1; step < losses.length; step++) {
                Supplier<BatchLoss> next = fixture.issue(step);
                assertEquals(losses[step - 1], late.get().mean());
                late = next;
            }
            assertEquals(losses[3], late.get().mean());
            return 0;
        });
    }

    @Test
    void nonFiniteSampleIsNamed() {
        with(PLAIN, 2, fixture -> {
            assertEquals(-1, fixture.issue(0).get().firstNonFiniteSample());
            fixture.poison();
            assertEquals(1, fixture.replica.evaluator().evaluate(fixture.input, fixture.target).batch()
                .firstNonFiniteSample());
            BatchLoss loss = fixture.issue(1).get();
            assertTrue(Double.isNaN(loss.mean()));
            assertEquals(1, loss.firstNonFiniteSample());
            return 0;
        });
    }

    /**
     * The loss scale makes the first gradients overflow: these steps change no weight, later ones update as without
     * scale.
     */
    @Test
    void overflowingStepsChangeNoWeights() {
        double[] losses = train(PLAIN, 2, 4);
        with(PLAIN, 2, new GradScaler(0x1p140, LossScaling.DYNAMIC), fixture -> {
            for (int step = 0; fixture.replica.step().progress().taken() < losses.length; step++) {
                double expected = losses[(int) fixture.replica.step().progress().taken()];
                assertEquals(expected, fixture.step(step), 1e-6 * expected);
                assertTrue(step < 40, "hardly a good step");
            }
            long skipped = fixture.replica.step().progress().skipped();
            assertTrue(skipped > 1, "no overflow");
            assertEquals(Math.scalb(1.0, 140 - (int) skipped), fixture.replica.step().progress().scale());
            return 0;
        });
    }

    /** Gradients are returned without the loss scale. */
    @Test
    void gradientsAreUnscaled() {
        float[] plain = new float[1];
        float[] scaled = new float[1];
        with(PLAIN, 2, fixture -> fixture.firstGradient(plain));
        with(PLAIN, 2, GradScaler.DYNAMIC, fixture -> fixture.firstGradient(scaled));
        assertEquals(plain[0], scaled[0], 1e-5f * Math.abs(plain[0]));
    }

    private static double[] train(VitConfig config, int threads, int steps) {
        double[] losses = new double[steps];
        with(config, threads, fixture -> {
            for (int i = 0; i < steps; i++) {
                losses[i] = fixture.step(i);
            }
            return 0;
        });
        return losses;
    }

    private static double with(VitConfig config, int threads, ToDoubleFunction<Fixture> body) {
        return with(config, threads, GradScaler.NONE, body);
    }

    private static double with(VitConfig config, int threads, GradScaler scaler, ToDoubleFunction<Fixture> body) {
        MemoryPlan plan = MemoryPlan.of(config, BATCH);
        try (Device device = new CpuDevice(threads)) {
            device.reserve(plan.footprint());
            try (StepMemory memory = plan.allocate(device);
                HostBuffer images = device.hostBuffer(DType.F32, Shape.of(2 * BATCH, 3, 24, 40))) {
                Replica replica = new Replica(device, config, BATCH, memory,
                    Communicators.alone(device.ops().memory()::copy), new StepOptions(DType.F32,
                        new Adam.Options(scaler, Adam.Launch.ONCE), GradientSync.Options.DEFAULT,
                        StepLaunch.EAGER));
                replica.model().initialize(5);
                return body.applyAsDouble(new Fixture(replica, images));
            }
        }
    }

    /** A replica and a batch of smooth images. */
    private static final class Fixture {
        private final Replica replica;
        private final MemorySegment host;
        private final Tensor input;
        private final Tensor target;

        Fixture(Replica replica, HostBuffer images) {
            this.replica = replica;
            host = images.segment();
            for (long i = 0; i < host.byteSize() / Float.BYTES; i++) {
                host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) Math.sin(0.11 * i));
            }
            Tensor all = images.toDevice();
            input = all.slice(0, BATCH);
            target = all.reshape(2 * BATCH * 3, 24, 40).slice(BATCH * 3, BATCH * 2).reshape(BATCH, 2, 24, 40);
        }

        void poison() {
            host.setAtIndex(ValueLayout.JAVA_FLOAT, 3 * 24 * 40 + 7, Float.NaN); // in the second sample
        }

        double step(long step) {
            return issue(step).get().mean();
        }

        Supplier<BatchLoss> issue(long step) {
            return replica.step().issue(input, target, new TrainStep.Context(5, step, IndexSpan.whole(BATCH), 3e-3));
        }

        double firstGradient(float[] value) {
            double loss = gradients(0);
            replica.model().device()
                .download(MemorySegment.ofArray(value), replica.model().parameters().gradients().slice(0, 1));
            assertNotEquals(0, value[0]);
            return loss;
        }

        double gradients(long step) {
            return replica.step().gradients(input, target, new Pass.Masks(5, step, IndexSpan.whole(BATCH)));
        }
    }
}
