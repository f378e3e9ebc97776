package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuCtxSetCurrent;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRelease;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRetain;
import static org.bytedeco.cuda.global.cudart.cuInit;
import static org.bytedeco.cuda.global.cudart.cuMemAlloc;
import static org.bytedeco.cuda.global.cudart.cuMemFree;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.bytedeco.cuda.cudart.CUctx_st;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The gauge of the first GPU, real or simulated. */
@Tag("cuda")
class NvmlGaugeTest {
    private static final long BYTES = 64L << 20;

    @Test
    void allocationsShowAndTheWatermarkStays() {
        CUctx_st context = new CUctx_st();
        Cuda.check(cuInit(0), "cuInit");
        Cuda.check(cuDevicePrimaryCtxRetain(context, 0), "cuDevicePrimaryCtxRetain");
        Cuda.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        try (NvmlGauge gauge = NvmlGauge.open(0)) {
            long before = gauge.highWatermark();
            long free = gauge.available();
            long[] address = new long[1];
            Cuda.check(cuMemAlloc(address, BYTES), "cuMemAlloc");
            gauge.sample();
            assertTrue(gauge.available() <= free - BYTES, "what is taken is not free");
            Cuda.check(cuMemFree(address[0]), "cuMemFree");
            assertTrue(gauge.highWatermark() >= before + BYTES, "what was taken is remembered");
            assertEquals(free, gauge.available(), BYTES / 2.0, "what is given back is free");
        } finally {
            cuDevicePrimaryCtxRelease(0);
        }
    }
}
