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
 * Pinned memory that is copied to the device on a stream of its own. Two events order that copy: it begins when the
 * operations that read the place before have run, and operations that are issued after it begin when it is done. The
 * host waits in {@link #segment} alone, and only if the copy is not done yet.
 */
final class CudaHostBuffer implements HostBuffer {
    private final InputStreams streams;
    private final DType dtype;
    private final Shape shape;
    private final PinnedMemory memory;
    private final CudaEvent copied;
    private final List<InputSlots.Place> taken = new ArrayList<>();
    private volatile boolean copying;
    private boolean closed;

    /**
     * What all host buffers of a device share.
     *
     * @param compute operations are issued here
     * @param copy    copies are issued here
     * @param waits   how the host waits for a copy, on whatever thread
     */
    record InputStreams(Gpu gpu, CudaStream compute, CudaStream copy, InputSlots places, HostWait waits) { }

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
            streams.gpu().makeCurrent(); // on a loader's thread, say
            streams.waits().until(copied);
            copying = false;
        }
        return memory.segment();
    }

    @Override
    public Tensor toDevice() {
        streams.gpu().makeCurrent();
        long bytes = memory.segment().byteSize();
        InputSlots.Place place = streams.places().take(bytes);
        taken.add(place);
        streams.copy().await(place.read());
        Cuda.check(cuMemcpyHtoDAsync(place.memory().address(), memory.pointer(), bytes, streams.copy().handle()),
            "cuMemcpyHtoDAsync");
        streams.copy().record(copied);
        copying = true;
        streams.compute().await(copied);
        return new Tensor(place.memory(), 0, dtype, shape);
    }

    @Override
    public void release() {
        for (InputSlots.Place place : taken) {
            streams.compute().record(place.read());
            streams.places().giveBack(place);
        }
        taken.clear();
    }

    /**
     * Frees the memory when it is no longer copied; once, and whatever the device answers. If the job has failed, a
     * copy may wait for ever: its memory then goes with the device.
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
        } catch (CudaException failed) { // the device has failed before, and whoever met that first has said so
            taken.clear();
        } catch (CommunicationException failed) { // likewise
            return;
        }
        streams.gpu().release(copied::close);
        memory.close();
    }
}
