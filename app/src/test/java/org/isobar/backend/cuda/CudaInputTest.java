package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.distributed.CommunicationException;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Batches that are copied raw and normalized in place, with no wait of the host that is not needed. */
@Tag("cuda")
class CudaInputTest {
    private InputFixture input;
    private final AtomicInteger waits = new AtomicInteger();

    @BeforeEach
    void open() {
        input = new InputFixture();
        input.stack.waits().addGuard(waits::incrementAndGet);
    }

    @AfterEach
    void close() {
        input.close();
    }

    /** As many buffers as a loader has. The host waits only to refill a buffer, for its copy three steps ago. */
    @Test
    void theHostIssuesStepsWithoutWaiting() {
        CudaHostBuffer[] buffers = {input.buffer(), input.buffer(), input.buffer()};
        Tensor mean = statistic(3);
        Tensor spread = statistic(2);
        Tensor[] results = new Tensor[7];
        for (int step = 0; step < results.length; step++) {
            CudaHostBuffer buffer = buffers[step % buffers.length];
            InputFixture.fill(buffer.segment(), step);
            assertEquals(step < buffers.length, waits.get() == 0);
            results[step] = input.result();
            int before = waits.get();
            Tensor images = buffer.toDevice();
            input.ops.images().normalize(images, images, mean, spread);
            input.ops.memory().copy(results[step], images);
            buffer.release();
            assertEquals(before, waits.get(), "waits in step " + step);
        }
        input.finish();
        for (int step = 0; step < results.length; step++) {
            assertHolds((step - 3) / 2f, results[step]);
        }
    }

    @Test
    void fillingABufferWaitsForItsCopy() {
        CudaHostBuffer buffer = input.buffer();
        InputFixture.fill(buffer.segment(), 1);
        Tensor result = input.result();
        input.ops.memory().copy(result, buffer.toDevice());
        buffer.release();
        assertEquals(0, waits.get());
        InputFixture.fill(buffer.segment(), 2);
        assertTrue(waits.get() > 0);
        int once = waits.get();
        buffer.segment();
        assertEquals(once, waits.get(), "there is nothing left to wait for");
        input.finish();
        assertHolds(1, result);
    }

    /** Filling the buffer throws, and closing it does not wait. */
    @Test
    void aFailedJobEndsTheWait() {
        CudaHostBuffer buffer = input.buffer();
        InputFixture.fill(buffer.segment(), 1);
        buffer.toDevice();
        input.stack.waits().addGuard(() -> {
            throw new CommunicationException("rank 1 is dead");
        });
        assertEquals("rank 1 is dead", assertThrows(CommunicationException.class, buffer::segment).getMessage());
        buffer.close();
        input.finish();
    }

    private Tensor statistic(float value) {
        Tensor tensor = input.arena.f32(1);
        input.ops.memory().fill(tensor, value);
        return tensor;
    }

    private void assertHolds(float value, Tensor tensor) {
        float[] expected = new float[8];
        Arrays.fill(expected, value);
        float[] found = new float[8];
        try (PinnedTransfers transfers =
            new PinnedTransfers(input.stack.gpu(), input.stack.compute(), new HostWait())) {
            transfers.download(MemorySegment.ofArray(found), tensor.address());
        }
        assertArrayEquals(expected, found);
    }
}
