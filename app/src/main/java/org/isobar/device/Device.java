package org.isobar.device;

import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** A machine that holds tensors and computes on them. The code that opened it closes it. */
public interface Device extends AutoCloseable {
    /** What computes, in a few words, for the log. */
    String description();

    /** What kind of processor this is. */
    DeviceType type();

    /** Number of devices of this type that this process sees, including this one. */
    default int visible() {
        return 1;
    }

    /** The operations of this device. */
    TensorOps ops();

    /** Whether products can be computed in this type. Every device has F32. */
    default boolean supports(DType dtype) {
        return dtype == DType.F32;
    }

    /**
     * Largest relative error with which products read an element of a tensor of this type: 0 where they read it
     * exactly, 2^-11 where single precision is cut to TF32.
     */
    default double operandRoundoff(DType dtype) {
        return 0;
    }

    /**
     * A new arena of the given capacity. The caller closes it.
     *
     * @throws OutOfDeviceMemoryException if the device does not have that much memory
     */
    DeviceArena arena(String name, long bytes);

    /** A new host buffer with its tensor. The caller closes it. */
    HostBuffer hostBuffer(DType dtype, Shape shape);

    /** Allocates whatever operations of that footprint need beyond their arguments; called before the first step. */
    void reserve(Footprint footprint);

    /** Bytes of this device that {@link #reserve} takes. */
    default long workspaceBytes(Footprint footprint) {
        return 0;
    }

    /**
     * Which kernels steps of that footprint run, with products in {@code compute}, in words for the log: a line for
     * each kind of operation that there was a choice for, none where a device has no choice.
     */
    default List<String> kernels(Footprint footprint, DType compute) {
        return List.of();
    }

    /**
     * Bytes of this device's memory that batches of {@code batchBytes} take on their way through {@code slots} host
     * buffers each: all of them where operations read the host's memory itself.
     */
    default long inputBytes(long batchBytes, int slots) {
        return batchBytes * slots;
    }

    /** Marks the phases of a step for a profiler; does nothing unless the device has one. */
    default ProfilerRanges ranges() {
        return ProfilerRanges.NONE;
    }

    /** Copies host memory into a tensor of the same size in bytes. */
    void upload(Tensor destination, MemorySegment source);

    /** Copies a tensor into host memory of the same size in bytes, after all operations issued so far. */
    void download(MemorySegment destination, Tensor source);

    /**
     * Starts to copy a few numbers to the host and returns immediately. At most four copies may be in progress.
     *
     * @param source (n), F64
     */
    default Readback read(Tensor source) {
        double[] values = new double[Math.toIntExact(source.elements())];
        download(MemorySegment.ofArray(values), source);
        return () -> values;
    }

    /** Whether this device supports {@link #capture}. */
    default boolean canCapture() {
        return false;
    }

    /**
     * Captures what {@code operations} issues on this device and through its communicators, without running it.
     * {@code operations} must neither wait for the device nor allocate, and must have run once before. The caller
     * closes the graph.
     */
    default DeviceGraph capture(Runnable operations) {
        throw new UnsupportedOperationException(description() + " cannot capture graphs");
    }

    /** A stopwatch for this device's operations. The caller closes it. */
    default Stopwatch stopwatch() {
        return new HostStopwatch();
    }

    /** Memory held by this device. */
    MemoryGauge memory();

    /** Releases threads and native resources. */
    @Override
    void close();
}
