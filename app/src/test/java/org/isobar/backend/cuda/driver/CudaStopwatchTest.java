package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.isobar.device.DeviceArena;
import org.isobar.device.Stopwatch;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Laps between marks on the compute stream. */
@Tag("cuda")
class CudaStopwatchTest {
    private static final long ELEMENTS = 1 << 20;

    @Test
    void lapsLieBetweenMarksAndAreForgotten() {
        try (CudaDevice device = CudaFixture.device();
            DeviceArena arena = device.arena("test", 4 * ELEMENTS);
            Stopwatch stopwatch = device.stopwatch()) {
            Tensor tensor = arena.f32(ELEMENTS);
            assertEquals(0, stopwatch.laps().length);
            for (int round = 0; round < 2; round++) {
                stopwatch.mark();
                for (int i = 0; i < 3; i++) {
                    device.ops().memory().fill(tensor, i);
                    stopwatch.mark();
                }
                double[] laps = stopwatch.laps();
                assertEquals(3, laps.length);
                assertTrue(Arrays.stream(laps).allMatch(seconds -> seconds >= 0 && seconds < 100),
                    () -> Arrays.toString(laps));
            }
            stopwatch.mark();
            assertEquals(0, stopwatch.laps().length);
        }
    }
}
