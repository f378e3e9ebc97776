package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.CUDA_SUCCESS;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxReset;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Leaves out each event that orders input copies; the simulated machine must report it. */
@Isolated("It resets the context of the process.")
@Tag("simulated")
class MissingInputEventTest {
    private InputFixture input;

    @BeforeEach
    void open() {
        input = new InputFixture();
    }

    @AfterEach
    void close() {
        int device = input.stack.gpu().device();
        input.close();
        assertEquals(CUDA_SUCCESS, cuDevicePrimaryCtxReset(device)); // the next test needs a working device
    }

    /** The third batch is copied into the slot of the first. */
    @Test
    void aSlotIsOverwrittenBeforeItIsRead() {
        long bytes = InputFixture.IMAGES.elements() * Float.BYTES;
        InputSlots.Slot first = input.slots.take(bytes);
        input.slots.giveBack(first);
        input.slots.giveBack(input.slots.take(bytes));
        step(input.buffer());
        input.slots.giveBack(first); // as release() does, but without recording its event
        CudaHostBuffer second = input.buffer();
        step(second);
        second.release();
        assertFound("missing event", () -> step(input.buffer()));
    }

    @Test
    void aSlotIsReadBeforeItIsWritten() {
        for (int round = 0; round < 2; round++) { // fills both slots, so that a read is not of unwritten memory
            CudaHostBuffer right = input.buffer();
            step(right);
            right.release();
        }
        input.finish();
        CudaStream other = new CudaStream();
        assertFound("missing event", () -> step(input.buffer(other))); // ordered with the wrong stream
    }

    @Test
    void aBufferIsFilledWhileItIsCopied() {
        CudaHostBuffer buffer = input.buffer();
        MemorySegment memory = buffer.segment();
        step(buffer);
        InputFixture.fill(memory, 2); // without asking for the segment again
        assertFound("pinned buffer changed before the copy ran", buffer::release);
    }

    private void step(CudaHostBuffer buffer) {
        InputFixture.fill(buffer.segment(), 1);
        Tensor result = input.result();
        input.ops.memory().copy(result, buffer.toDevice());
    }

    private void assertFound(String message, Runnable last) {
        CudaException found = assertThrows(CudaException.class, () -> {
            last.run();
            input.finish();
        });
        assertTrue(found.getMessage().contains(message), found.getMessage());
    }
}
