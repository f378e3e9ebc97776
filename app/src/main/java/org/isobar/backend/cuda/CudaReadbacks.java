package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoHAsync;

import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.cuda.driver.PinnedMemory;
import org.isobar.backend.cuda.ops.GpuResources;
import org.isobar.device.Readback;
import org.isobar.tensor.Tensor;

/**
 * Asynchronous copies of a few numbers to the host, in order with the operations. Each copy has pinned memory and an
 * event of its own, so awaiting one does not wait for work issued later. Used by the thread that issues the operations.
 */
final class CudaReadbacks implements AutoCloseable {
    private static final int SLOTS = 4;
    private static final long USUAL_BYTES = 4096;

    private final Gpu gpu;
    private final CudaStream compute;
    private final HostWait waits;
    private final List<Slot> slots = new ArrayList<>();
    private final Deque<Slot> free = new ArrayDeque<>();

    /** Pinned memory for one copy, with the event that ends the copy. */
    private static final class Slot {
        private final CudaEvent arrived = new CudaEvent();
        private PinnedMemory memory;

        Slot(PinnedMemory memory) {
            this.memory = memory;
        }
    }

    CudaReadbacks(GpuResources stack) {
        gpu = stack.gpu();
        compute = stack.compute();
        waits = stack.waits();
        for (int i = 0; i < SLOTS; i++) {
            slots.add(new Slot(new PinnedMemory(gpu, USUAL_BYTES)));
        }
        free.addAll(slots);
    }

    /** See {@link org.isobar.device.Device#read}. */
    Readback read(Tensor source) {
        if (free.isEmpty()) {
            throw new IllegalStateException("all " + SLOTS + " readbacks are in flight; await one first");
        }
        gpu.makeCurrent();
        Slot slot = free.remove();
        makeRoom(slot, source.bytes());
        Cuda.check(cuMemcpyDtoHAsync(slot.memory.pointer(), source.address(), source.bytes(), compute.handle()),
            "cuMemcpyDtoHAsync");
        compute.record(slot.arrived);
        return () -> {
            gpu.makeCurrent();
            waits.until(slot.arrived);
            free.add(slot);
            return slot.memory.segment().asSlice(0, source.bytes()).toArray(ValueLayout.JAVA_DOUBLE);
        };
    }

    /** Grows the slot in the first steps, if batches of hundreds of samples have more numbers than usual. */
    private void makeRoom(Slot slot, long bytes) {
        if (bytes > slot.memory.segment().byteSize()) {
            slot.memory.close();
            slot.memory = new PinnedMemory(gpu, bytes);
        }
    }

    @Override
    public void close() {
        slots.forEach(slot -> {
            slot.arrived.close();
            slot.memory.close();
        });
    }
}
