package org.isobar.backend.cpu.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.HostBuffer;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Communicators;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;
import org.isobar.train.step.TrainStep;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a step needs besides its arguments is there before the first one, and is in its plan. */
class CpuWorkspaceTest {

    @ParameterizedTest
    @CsvSource({"64, 128, 8, 20, 192, 2, 6, 4", "24, 40, 4, 3, 24, 1, 4, 1", "8, 64, 8, 1, 320, 1, 2, 2",
        "256, 256, 32, 1, 8, 1, 1, 3"})
    void noStepGrowsIt(int height, int width, int patch, int channels, int embed, int depth, int heads, int batch) {
        VitConfig config = new VitConfig(height, width, patch, channels, channels, embed, depth, heads, 4 * embed, 0);
        for (DType compute : List.of(DType.F32, DType.BF16)) {
            try (CpuDevice device = new CpuDevice(3)) {
                if (device.supports(compute)) {
                    step(device, config, batch, compute);
                }
            }
        }
    }

    private static void step(CpuDevice device, VitConfig config, int batch, DType compute) {
        MemoryPlan plan = MemoryPlan.of(config, batch, compute);
        Shape images = Shape.of(batch, config.inChannels(), config.height(), config.width());
        try (StepMemory memory = plan.allocate(device);
            HostBuffer input = device.hostBuffer(DType.F32, images)) {
            device.reserve(plan.footprint());
            assertEquals(device.workspaceBytes(plan.footprint()), device.workspaceBytes());
            Replica replica =
                new Replica(device, config, batch, memory, Communicators.alone(device.ops().memory()::copy),
                StepOptions.of(compute, GradientSync.Options.DEFAULT));
            replica.model().initialize(1);
            device.ops().memory().fill(input.toDevice(), 0.5);
            double loss = replica.step().run(input.toDevice(), input.toDevice(),
                new TrainStep.Context(1, 0, IndexSpan.whole(batch), 1e-3));
            replica.evaluator().evaluate(input.toDevice(), input.toDevice());
            assertTrue(loss > 0, "loss " + loss);
            assertEquals(device.workspaceBytes(plan.footprint()), device.workspaceBytes());
        }
    }
}
