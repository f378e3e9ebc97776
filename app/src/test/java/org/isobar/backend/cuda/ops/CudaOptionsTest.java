package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;

import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.junit.jupiter.api.Test;

/** Options that the environment sets. */
class CudaOptionsTest {
    @Test
    void tf32IsSwitchedOffAsNvidiasLibrariesSwitchItOff() {
        assertEquals(SinglePrecision.TF32, SinglePrecision.of(Map.of()));
        assertEquals(SinglePrecision.TF32, SinglePrecision.of(Map.of("NVIDIA_TF32_OVERRIDE", "1")));
        assertEquals(SinglePrecision.FULL, SinglePrecision.of(Map.of("NVIDIA_TF32_OVERRIDE", "0")));
    }
}
