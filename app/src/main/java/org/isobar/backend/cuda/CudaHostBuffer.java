package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoDAsync;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.cuda.driver.PinnedMemory;
import org.isobar.device.HostBuffer;
import org.isobar.distributed.CommunicationException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Pinned memory that is copied to the device on the copy stream. Two events order the copy: it starts after the
 * operations that read the same slot before, and operations issued later start after it. The host waits only in
 * {@link #segment}, and only if the copy is not done yet.
 */
final class CudaHostBuffer implements HostBuffer {
    private final InputStreams streams;
    private final DType dtype;
    private final Shape shape;
    private final PinnedMemory memory;
    private final CudaEvent copied;
    private final List<InputSlots.Slot> taken = new ArrayList<>();
    private volatile boolean copying;
    private boolean closed;

    /**
     * What all host buffers of a device share.
     *
     * @param compute stream of the operations
     * @param copy    stream of the copies
     * @param slots   where copies go in device memory
     * @param waits   how the host waits for a copy, on any thread
     */
    record InputStreams(Gpu gpu, CudaStream compute, CudaStream copy, InputSlots slots, HostWait waits) { }

    CudaHostBuffer(InputStreams streams, DType dtype, Shape shape) {
        this.streams = streams;
        this.dtype = dtype;
        this.shape = shape;
        memory = new PinnedMemory(streams.gpu(), shape.elements() * dtype.bytes());
        copied = new CudaEvent();
    }

    @Override
    public MemorySegment segment() {
        if (copying) {
            streams.gpu().makeCurrent(); // this may be the thread of a data loader
            streams.waits().until(copied);
            copying = false;
        }
        return memory.segment();
    }

    @Override
    public Tensor toDevice() {
        streams.gpu().makeCurrent();
        long bytes = memory.segment().byteSize();
        InputSlots.Slot slot = streams.slots().take(bytes);
        taken.add(slot);
        streams.copy().await(slot.read());
        Cuda.check(cuMemcpyHtoDAsync(slot.memory().address(), memory.pointer(), bytes, streams.copy().handle()),
            "cuMemcpyHtoDAsync");
        streams.copy().record(copied);
        copying = true;
        streams.compute().await(copied);
        return new Tensor(slot.memory(), 0, dtype, shape);
    }

    @Override
    public void release() {
        for (InputSlots.Slot slot : taken) {
            streams.compute().record(slot.read());
            streams.slots().giveBack(slot);
        }
        taken.clear();
    }

    /**
     * Waits for the copy and frees the memory; once. If the job has failed, the copy may never end, so the memory is
     * left to the end of the device.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            segment();
            release();
        } catch (CudaException failed) { // reported already by the thread that met it first
            taken.clear();
        } catch (CommunicationException failed) { // reported already, too
            return;
        }
        streams.gpu().release(copied::close);
        memory.close();
    }
}
