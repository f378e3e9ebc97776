package org.isobar.backend.cpu.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.function.BiFunction;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** A profiler interrupts threads by signals; see {@link OneDnn} for what those did to products. */
class ProfilerTest {
    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3); // sgemm crashed within one without the mask
    private static final int SIDE = 384;
    private static final int ROWS = 2 * SIDE;

    @Test
    void productsSurviveAProfiler() throws Exception {
        OneDnn.load();
        record("sgemm", (device, arena) -> {
            Tensor x = filled(device, arena, DType.F32, ROWS, SIDE);
            Tensor weight = filled(device, arena, DType.F32, SIDE, SIDE);
            Tensor y = arena.f32(ROWS, SIDE);
            return new Work(y, () -> OneDnn.product(Matrix.of(y, SIDE), ROWS, SIDE, SIDE, Matrix.of(x, SIDE),
                Matrix.of(weight, SIDE), WriteMode.OVERWRITE));
        });
    }

    @ParameterizedTest
    @FieldSource("org.isobar.backend.cpu.CpuFixture#TYPES")
    void linearLayersSurviveAProfiler(DType dtype) throws Exception {
        record("linear layers", (device, arena) -> {
            Tensor x = filled(device, arena, dtype, ROWS, SIDE);
            Tensor weight = filled(device, arena, dtype, SIDE, SIDE);
            Tensor y = arena.allocate(dtype, ROWS, SIDE);
            Tensor dx = arena.allocate(dtype, ROWS, SIDE);
            Tensor dWeight = filled(device, arena, DType.F32, SIDE, SIDE);
            Tensor result = arena.f32(ROWS, SIDE);
            return new Work(result, () -> {
                device.ops().products().linear(y, x, weight, Epilogue.NONE);
                device.ops().products().linearBackwardInput(dx, y, weight, WriteMode.OVERWRITE);
                device.ops().products().linearBackwardWeight(dWeight, y, x);
                device.ops().products().linear(result, x, weight, Epilogue.NONE);
            });
        });
    }

    /** What is repeated, and where each repetition leaves {@link #SIDE}. */
    private record Work(Tensor result, Runnable once) { }

    private static void record(String name, BiFunction<Device, DeviceArena, Work> setUp) throws Exception {
        try (Device device = new CpuDevice(2); DeviceArena arena = device.arena(name, 1 << 24);
            Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            recording.start();
            Work work = setUp.apply(device, arena);
            long end = System.nanoTime() + LONG_ENOUGH.toNanos();
            while (System.nanoTime() < end) {
                work.once.run();
            }
            float[] first = new float[1];
            Tensor result = work.result;
            device.download(MemorySegment.ofArray(first), result.reshape(result.elements()).slice(0, 1));
            assertEquals(SIDE, first[0]);
        }
    }

    private static Tensor filled(Device device, DeviceArena arena, DType dtype, long... extents) {
        Tensor tensor = arena.allocate(dtype, extents);
        device.ops().memory().fill(tensor, 1);
        return tensor;
    }
}
