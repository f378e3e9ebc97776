package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Streams of both priorities. */
@Tag("cuda")
class CudaStreamTest {
    @Test
    void theHighestPriorityIsAboveTheOrdinary() {
        try (CudaDevice _ = CudaFixture.device(); CudaStream ordinary = new CudaStream();
            CudaStream highest = new CudaStream(CudaStream.Priority.HIGHEST)) {
            assertEquals(0, ordinary.priority());
            assertTrue(highest.priority() < 0, () -> "" + highest.priority());
        }
    }
}
