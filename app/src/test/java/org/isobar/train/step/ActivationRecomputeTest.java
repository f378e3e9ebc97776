package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Recompute;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Recomputed activations have the same bits as kept ones. */
class ActivationRecomputeTest {
    private static final VitConfig MODEL = new VitConfig(40, 104, 8, 2, 2, 32, 3, 4, 128, 0.2); // 65 tokens
    /** Its backward pass needs the most memory in the mlp. */
    private static final VitConfig WIDE = new VitConfig(40, 104, 8, 2, 2, 32, 3, 4, 256, 0.2);
    private static final int BATCH = 2;
    private static final int STEPS = 3;

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "2, 1, 1", "1, 2, 1", "2, 2, 2"})
    void recomputationHasTheSameBits(int tp, int cp, int dp) throws Exception {
        ProcessGrid grid = ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
        List<List<Double>> expected = losses(grid, MODEL);
        for (Recompute recompute : Recompute.values()) {
            assertEquals(expected, losses(grid, MODEL.with(recompute)), recompute.name());
        }
    }

    /** Memory shrinks by the activations that are not kept. One block at a time is recomputed, with its output. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void memory(DType compute) {
        MemoryPlan all = MemoryPlan.of(WIDE, BATCH, compute);
        MemoryPlan mlp = MemoryPlan.of(WIDE.with(Recompute.MLP), BATCH, compute);
        MemoryPlan block = MemoryPlan.of(WIDE.with(Recompute.BLOCK), BATCH, compute);
        long tokens = BATCH * WIDE.tokens();
        long hidden = DeviceArena.align(tokens * WIDE.hidden() * compute.bytes());
        long stream = DeviceArena.align(tokens * WIDE.embed() * Float.BYTES);
        long statistics = 2 * DeviceArena.align(tokens * Float.BYTES); // statistics of the last norm
        assertEquals(all.keptBytes() - WIDE.depth() * hidden, mlp.keptBytes());
        long normed = DeviceArena.align(tokens * WIDE.embed() * compute.bytes()); // else recomputed over its gradient
        assertEquals(all.scratchBytes() + hidden + normed, mlp.scratchBytes());
        long streams = (WIDE.depth() + 1) * stream;
        long oneBlock = (all.keptBytes() - streams - statistics) / WIDE.depth();
        assertEquals(streams + statistics + oneBlock + stream, block.keptBytes());
        assertEquals(all.scratchBytes(), block.scratchBytes());
    }

    /** Losses of the steps and of an evaluation after them, of each rank in turn. */
    private static List<List<Double>> losses(ProcessGrid grid, VitConfig config) throws Exception {
        return GridRanks.run(grid, (device, communicators) -> losses(device, communicators, config));
    }

    private static List<Double> losses(Device device, Communicators communicators, VitConfig config) {
        MemoryPlan plan = MemoryPlan.of(config, BATCH, communicators.grid(), 0); // rank 0 has the most tokens
        device.reserve(plan.footprint());
        try (StepMemory memory = plan.allocate(device); DeviceArena images =
            device.arena("images", 1 << 18)) {
            Replica replica = new Replica(device, config, BATCH, memory, communicators, GradientSync.Options.DEFAULT);
            replica.model().initialize(5);
            int replicas = communicators.grid().size(Axis.DP);
            IndexSpan samples = new IndexSpan(communicators.coordinate(Axis.DP), replicas, BATCH * replicas);
            Tensor input = RandomImages.of(MODEL, BATCH, "input " + samples, device, images);
            Tensor target = RandomImages.of(MODEL, BATCH, "target " + samples, device, images);
            List<Double> losses = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                losses.add(replica.step().run(input, target, new TrainStep.Context(5, step, samples, 1e-3)));
            }
            losses.add(replica.evaluator().evaluate(input, target).loss());
            return losses;
        }
    }
}
