package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.backend.cuda.NativeEnvironment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The gauge of the first GPU, real or simulated. */
@Isolated("Tests beside it would change the memory use.")
class NvmlGaugeTest {
    private static final long BYTES = 64L << 20;

    @Test
    @Tag("cuda")
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

    @Test
    @Tag("simulated")
    void theWatermarkStaysIfNvmlFailsLater() {
        CudaLibraries.load();
        try (Gpu gpu = new Gpu(0); NvmlGauge gauge = NvmlGauge.open(gpu.device())) {
            long before = gauge.highWatermark();
            NativeEnvironment.with("ISOBAR_SIM_NVML", "lost", "", () -> {
                gauge.sample();
                assertEquals(before, gauge.highWatermark());
                assertEquals("nvmlDeviceGetMemoryInfo: GPU is lost",
                    assertThrows(CudaException.class, gauge::available).getMessage());
            });
            assertEquals("NVML", gauge.toString());
        }
    }

    /** NVML's memory is that of the whole GPU, of which this device is one of two slices. */
    @Test
    @Tag("simulated")
    void theDriverReportsTheMemoryOfASlice() {
        CudaLibraries.load();
        try (Gpu gpu = new Gpu(0)) {
            NativeEnvironment.with("ISOBAR_SIM_NVML", "mig", "", () -> {
                try (NvmlGauge gauge = NvmlGauge.open(gpu.device())) {
                    assertEquals("the driver", gauge.toString());
                }
            });
        }
    }
}
