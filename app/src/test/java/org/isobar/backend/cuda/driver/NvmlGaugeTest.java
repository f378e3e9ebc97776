package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The gauge of the first GPU, real or simulated. */
@Tag("cuda")
@Isolated("Tests beside it would change the memory use.")
class NvmlGaugeTest {
    private static final long BYTES = 64L << 20;

    @Test
    void allocationsShowAndTheWatermarkStays() {
        CudaLibraries.load();
        try (Gpu gpu = new Gpu(0); NvmlGauge gauge = NvmlGauge.open(gpu.device())) {
            assertEquals("NVML", gauge.toString());
            long before = gauge.highWatermark();
            long free = gauge.available();
            try (DeviceMemory memory = new DeviceMemory(gpu, "test", BYTES)) {
                gauge.sample();
                assertTrue(gauge.available() <= free - memory.bytes(), "what is taken is not free");
            }
            assertTrue(gauge.highWatermark() >= before + BYTES, "what was taken is remembered");
            assertEquals(free, gauge.available(), BYTES / 2.0, "what is given back is free");
        }
    }
}
