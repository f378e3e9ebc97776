package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync.Replicas;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/**
 * Tests two data-parallel replicas: they train one model for every bucket size, and two models with {@code --noddp}.
 */
class ReplicasTest {
    private static final VitConfig MODEL = new VitConfig(16, 32, 8, 2, 2, 96, 3, 4, 384, 0); // 1.3 MiB of weights
    private static final int STEPS = 4;

    /** Final results of one rank. */
    private record Trained(double[] losses, boolean agrees, float[] weights) { }

    @Test
    void bucketSizeDoesNotChangeTheLosses() throws Exception {
        List<Trained> one = train(2, new GradientSync.Options(25, Replicas.TOGETHER));
        for (double cap : new double[] {1, 0.05}) {
            List<Trained> several = train(2, new GradientSync.Options(cap, Replicas.TOGETHER));
            for (int rank = 0; rank < 2; rank++) {
                assertTrue(several.get(rank).agrees());
                for (int step = 0; step < STEPS; step++) {
                    assertEquals(one.get(0).losses()[step], several.get(rank).losses()[step], 1e-7);
                }
            }
        }
    }

    /** Each replica has the bits of a single model; the loss is their mean. */
    @Test
    void independentReplicasAreTwoModels() throws Exception {
        List<Trained> apart = train(2, new GradientSync.Options(25, Replicas.APART));
        List<Trained> alone = List.of(trainAlone(0), trainAlone(1));
        for (int rank = 0; rank < 2; rank++) {
            assertFalse(apart.get(rank).agrees());
            assertArrayEquals(alone.get(rank).weights(), apart.get(rank).weights());
            for (int step = 0; step < STEPS; step++) {
                double mean = (alone.get(0).losses()[step] + alone.get(1).losses()[step]) / 2;
                assertEquals(mean, apart.get(rank).losses()[step], 1e-12);
            }
        }
    }

    private static List<Trained> train(int replicas, GradientSync.Options options) throws Exception {
        return GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, replicas)),
            (device, communicators) -> train(device, communicators, options, communicators.coordinate(Axis.DP)));
    }

    private static Trained trainAlone(int samples) throws Exception {
        return GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of()), (device, communicators) ->
            train(device, communicators, GradientSync.Options.DEFAULT, samples)).getFirst();
    }

    private static Trained train(Device device, Communicators communicators, GradientSync.Options options,
        int samples) {
        MemoryPlan plan = MemoryPlan.of(MODEL, 1);
        device.reserve(plan.footprint());
        try (StepMemory memory = plan.allocate(device); DeviceArena images =
            device.arena("images", 1 << 16)) {
            Replica replica = new Replica(device, MODEL, 1, memory, communicators, options);
            replica.model().initialize(5);
            assertTrue(replica.consensus().agreeOn(replica.model().parameters()));
            Tensor input = RandomImages.of(MODEL, 1, "input" + samples, device, images);
            Tensor target = RandomImages.of(MODEL, 1, "target" + samples, device, images);
            double[] losses = new double[STEPS];
            for (int step = 0; step < STEPS; step++) {
                losses[step] = replica.step().run(input, target, new TrainStep.Context(5, step,
                    new IndexSpan(samples, 2, 2), 1e-3));
            }
            return new Trained(losses, replica.consensus().agreeOn(replica.model().parameters()),
                read(device, replica.model().parameters().values()));
        }
    }

    private static float[] read(Device device, Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }
}
