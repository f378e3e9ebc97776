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

/** Each order that input needs, left out on purpose: the simulated machine sees it. */
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
        assertEquals(CUDA_SUCCESS, cuDevicePrimaryCtxReset(device)); // or it would be as broken for the next test
    }

    /** The third batch comes to where the first was. */
    @Test
    void aPlaceIsOverwrittenBeforeItHasBeenRead() {
        long bytes = InputFixture.IMAGES.elements() * Float.BYTES;
        InputSlots.Place first = input.places.take(bytes);
        input.places.giveBack(first);
        input.places.giveBack(input.places.take(bytes));
        step(input.slot());
        input.places.giveBack(first); // as release() does, but its event is not recorded
        CudaHostBuffer second = input.slot();
        step(second);
        second.release();
        assertFound("missing event", () -> step(input.slot()));
    }

    @Test
    void aPlaceIsReadBeforeItHasBeenWritten() {
        for (int round = 0; round < 2; round++) { // both places hold something, or there would be nothing to read
            CudaHostBuffer right = input.slot();
            step(right);
            right.release();
        }
        input.finish();
        CudaStream other = new CudaStream();
        assertFound("missing event", () -> step(input.slot(other))); // its copy waits, and is waited for, in vain
    }

    @Test
    void aSlotIsFilledWhileItIsCopied() {
        CudaHostBuffer slot = input.slot();
        MemorySegment memory = slot.segment();
        step(slot);
        InputFixture.fill(memory, 2); // without asking for the segment again
        assertFound("pinned buffer changed before the copy ran", slot::release);
    }

    private void step(CudaHostBuffer slot) {
        InputFixture.fill(slot.segment(), 1);
        Tensor result = input.result();
        input.ops.copy(result, slot.toDevice());
    }

    private void assertFound(String complaint, Runnable last) {
        CudaException found = assertThrows(CudaException.class, () -> {
            last.run();
            input.finish();
        });
        assertTrue(found.getMessage().contains(complaint), found.getMessage());
    }
}
