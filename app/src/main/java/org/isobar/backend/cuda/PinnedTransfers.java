package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoHAsync;
import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoDAsync;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.cuda.driver.PinnedMemory;

/**
 * Copies between any host memory and the device, through pinned memory and in order with the operations. Uploads return
 * at once while a slot is free, so a number that a step needs costs no wait.
 */
public final class PinnedTransfers implements AutoCloseable {
    private static final int SLOTS = 8;
    private static final long SLOT_BYTES = 1 << 20;

    /** @param free recorded behind the last copy that read or wrote the slot */
    private record Slot(PinnedMemory memory, CudaEvent free) { }

    private final Gpu gpu;
    private final CudaStream stream;
    private final HostWait waits;
    private final List<Slot> slots = new ArrayList<>();
    private int next;

    /** @param stream the compute stream */
    public PinnedTransfers(Gpu gpu, CudaStream stream, HostWait waits) {
        this.gpu = gpu;
        this.stream = stream;
        this.waits = waits;
        for (int i = 0; i < SLOTS; i++) {
            slots.add(new Slot(new PinnedMemory(gpu, SLOT_BYTES), new CudaEvent()));
        }
    }

    /** Copies {@code source} to a device address; {@code source} may be changed on return. */
    public void upload(long address, MemorySegment source) {
        gpu.makeCurrent();
        for (long at = 0; at < source.byteSize(); at += SLOT_BYTES) {
            long bytes = Math.min(SLOT_BYTES, source.byteSize() - at);
            Slot slot = slots.get(next);
            next = (next + 1) % SLOTS;
            waits.until(slot.free);
            MemorySegment.copy(source, at, slot.memory.segment(), 0, bytes);
            Cuda.check(cuMemcpyHtoDAsync(address + at, slot.memory.pointer(), bytes, stream.handle()),
                "cuMemcpyHtoDAsync");
            stream.record(slot.free);
        }
    }

    /** Waits for all operations issued so far and copies from a device address. */
    public void download(MemorySegment destination, long address) {
        gpu.makeCurrent();
        long size = destination.byteSize();
        long issued = 0;
        for (long done = 0; done < size; done += SLOT_BYTES) {
            for (; issued < size && issued < done + SLOTS * SLOT_BYTES; issued += SLOT_BYTES) {
                Slot slot = slot(issued);
                Cuda.check(cuMemcpyDtoHAsync(slot.memory.pointer(), address + issued,
                    Math.min(SLOT_BYTES, size - issued), stream.handle()), "cuMemcpyDtoHAsync");
                stream.record(slot.free);
            }
            Slot slot = slot(done);
            waits.until(slot.free);
            MemorySegment.copy(slot.memory.segment(), 0, destination, done, Math.min(SLOT_BYTES, size - done));
        }
    }

    private Slot slot(long at) {
        return slots.get((int) (at / SLOT_BYTES % SLOTS));
    }

    @Override
    public void close() {
        slots.forEach(slot -> {
            slot.free.close();
            slot.memory.close();
        });
    }
}
