package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceGraph;
import org.isobar.device.ops.LossScaling;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.StepLaunch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operations that are captured once and launched several times: a CUDA graph. */
@Tag("cuda")
class CudaGraphTest {
    private static final int STEPS = 21; // the first is issued
    /** So large that binary16 overflows in the first steps; its growth moves it up into overflow again. */
    private static final GradScaler STEEP = new GradScaler(0x1p28, new LossScaling(8, 0.5, 4));

    /** What a number of steps leaves behind. */
    private record Trained(List<Double> losses, float[] weights, Adam.Progress progress) {
        static Trained of(DType compute, StepLaunch mode) {
            GradScaler scaler = compute == DType.F16 ? STEEP : GradScaler.NONE;
            List<Double> losses = new ArrayList<>();
            try (CudaReplica model = new CudaReplica(compute, scaler, mode)) {
                Supplier<BatchLoss> late = null;
                for (int step = 0; step < STEPS; step++) {
                    Supplier<BatchLoss> next = model.issue(1e-3 * (STEPS - step) / STEPS);
                    if (late != null) {
                        losses.add(late.get().mean());
                    }
                    late = next;
                }
                losses.add(late.get().mean());
                return new Trained(losses, model.weights(), model.replica().step().progress());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = DType.class, names = {"F32", "F16"})
    void twentyLaunchesAreTwentySteps(DType compute) {
        Trained issued = Trained.of(compute, StepLaunch.EAGER);
        Trained launched = Trained.of(compute, StepLaunch.GRAPH);
        assertEquals(issued.losses(), launched.losses());
        assertArrayEquals(issued.weights(), launched.weights());
        assertEquals(issued.progress(), launched.progress());
        assertNotEquals(issued.losses().getFirst(), issued.losses().getLast());
        if (compute == DType.F16) {
            assertTrue(launched.progress().skipped() > 1, "a launched step overflows: " + launched.progress());
            assertTrue(launched.progress().taken() > 1, "and another does not: " + launched.progress());
        }
    }

    @Tag("slow")
    @Test
    void twentyLaunchesInBf16AreTwentySteps() {
        twentyLaunchesAreTwentySteps(DType.BF16);
    }

    @Test
    void captureRunsNothingAndEachLaunchRunsAll() {
        try (CudaDevice device = CudaFixture.device(); DeviceArena arena = device.arena("values", 1024)) {
            Tensor x = arena.f32(4);
            Tensor y = arena.f32(4);
            device.ops().memory().fill(x, 1);
            device.ops().memory().copy(y, x);
            try (DeviceGraph graph = device.capture(() -> {
                device.ops().memory().copy(y, x);
                device.ops().memory().fill(x, 3);
            })) {
                assertArrayEquals(new float[] {1, 1, 1, 1}, CudaFixture.values(device, x));
                device.ops().memory().fill(x, 2);
                graph.launch();
                assertArrayEquals(new float[] {2, 2, 2, 2}, CudaFixture.values(device, y));
                graph.launch();
                assertArrayEquals(new float[] {3, 3, 3, 3}, CudaFixture.values(device, y));
            }
        }
    }

    @Test
    void aFailureDuringCaptureLeavesTheDeviceUsable() {
        try (CudaDevice device = CudaFixture.device(); DeviceArena arena = device.arena("values", 1024)) {
            Tensor x = arena.f32(4);
            device.ops().memory().fill(x, 1);
            IllegalStateException failure = assertThrows(IllegalStateException.class, () -> device.capture(() -> {
                device.ops().memory().fill(x, 2);
                throw new IllegalStateException("on the way");
            }));
            assertEquals("on the way", failure.getMessage());
            assertArrayEquals(new float[] {1, 1, 1, 1}, CudaFixture.values(device, x));
            device.ops().memory().fill(x, 5);
            assertArrayEquals(new float[] {5, 5, 5, 5}, CudaFixture.values(device, x));
        }
    }
}
