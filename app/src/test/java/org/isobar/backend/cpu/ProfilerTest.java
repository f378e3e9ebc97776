package org.isobar.backend.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.Epilogue;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** A profiler interrupts threads by signals; see {@link OneDnn} for what those did to products. */
class ProfilerTest {
    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3); // crashed within one without the mask

    @Test
    void productsSurviveAProfiler() throws Exception {
        try (Device device = new CpuDevice(2); Arena arena = device.arena("product", 1 << 24);
            Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            recording.start();
            Tensor x = arena.f32(768, 384);
            Tensor weight = arena.f32(384, 384);
            Tensor y = arena.f32(768, 384);
            device.ops().fill(x, 1);
            device.ops().fill(weight, 1);
            long end = System.nanoTime() + LONG_ENOUGH.toNanos();
            while (System.nanoTime() < end) {
                device.ops().linear(y, x, weight, Epilogue.NONE);
            }
            float[] first = new float[1];
            device.download(MemorySegment.ofArray(first), y.reshape(y.elements()).slice(0, 1));
            assertEquals(384f, first[0]);
        }
    }
}
