package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.InPlaceBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** A device that has host buffers and nothing else, and counts them: all that the loader asks of one. */
final class HostDevice implements Device {
    private final AtomicInteger open = new AtomicInteger();

    /** Buffers that have not been closed. */
    int openBuffers() {
        return open.get();
    }

    /** The numbers of a tensor of this device. */
    static float[] values(Tensor tensor) {
        return HostStorage.of(tensor).toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        java.lang.foreign.Arena memory = java.lang.foreign.Arena.ofShared();
        MemorySegment segment = memory.allocate(shape.elements() * dtype.bytes(), 64);
        open.incrementAndGet();
        return new InPlaceBuffer(segment, new Tensor(new HostStorage(segment), 0, dtype, shape), () -> {
            memory.close();
            open.decrementAndGet();
        });
    }

    @Override
    public String description() {
        return "host memory";
    }

    @Override
    public TensorOps ops() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Arena arena(String name, long bytes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reserve(Footprint footprint) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        throw new UnsupportedOperationException();
    }

    @Override
    public MemoryGauge memory() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() { }
}
