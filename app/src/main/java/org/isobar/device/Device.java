package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** A machine that holds tensors and computes on them. Owned and closed by whoever opened it. */
public interface Device extends AutoCloseable {
    /** What computes, in a few words, for the log. */
    String description();

    /** The operations of this device. */
    TensorOps ops();

    /**
     * A new arena of the given capacity. The caller closes it.
     *
     * @throws OutOfDeviceMemoryException if the device has not that much memory
     */
    Arena arena(String name, long bytes);

    /** A new host buffer with its tensor. The caller closes it. */
    HostBuffer hostBuffer(DType dtype, Shape shape);

    /** Allocates whatever operations of that footprint need beyond their arguments; called before the first step. */
    void reserve(Footprint footprint);

    /** Copies host memory into a tensor of the same size in bytes. */
    void upload(Tensor destination, MemorySegment source);

    /** Copies a tensor into host memory of the same size in bytes, after all operations issued so far. */
    void download(MemorySegment destination, Tensor source);

    /** Memory held by this device. */
    MemoryGauge memory();

    /** Releases threads and native resources. */
    @Override
    void close();
}
