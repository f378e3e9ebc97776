package org.isobar.device;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** A compute device: allocates tensors and runs operations on them. The code that opens a device closes it. */
public interface Device extends AutoCloseable {
    /** A short description of the hardware for the log. */
    String description();

    /** The type of this device. */
    DeviceType type();

    /** Number of devices of this type that this process sees, including this one. */
    default int visible() {
        return 1;
    }

    /** The operations of this device. */
    TensorOps ops();

    /** Whether this type can be the compute type of matrix products. Every device supports F32. */
    default boolean supports(DType dtype) {
        return dtype == DType.F32;
    }

    /**
     * Whether matrix products may be rounded to the type of a 16-bit result before a bias, or what the result holds, is
     * added to them.
     */
    default boolean roundsBeforeAdding() {
        return false;
    }

    /**
     * The largest relative rounding error that matrix products apply to an operand of this type: 0 if they read it
     * exactly, 2^-11 if F32 is rounded to TF32.
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

    /** Starts to compile, on other threads, what operations may use, for a program that uses most of it. */
    default void compileAhead() { }

    /**
     * Checks that operations of that footprint do not exceed limits of this device, except its memory.
     *
     * @throws org.isobar.fault.UserException if they do; names the setting to change
     */
    default void require(Footprint footprint) { }

    /** Allocates the workspace for operations of that footprint. Called before the first step. */
    void reserve(Footprint footprint);

    /** Bytes of this device that {@link #reserve} takes. */
    default long workspaceBytes(Footprint footprint) {
        return 0;
    }

    /**
     * Describes for the log which kernels steps of that footprint run with the compute type {@code compute}: one line
     * for each kind of operation with more than one kernel to choose from, empty if there is no choice.
     */
    default List<String> kernels(Footprint footprint, DType compute) {
        return List.of();
    }

    /**
     * Bytes of this device's memory needed for batches of {@code batchBytes} with {@code slots} host buffers each: the
     * size of all buffers if operations read host memory directly.
     */
    default long inputBytes(long batchBytes, int slots) {
        return Math.multiplyExact(batchBytes, slots);
    }

    /** Profiler ranges for the phases of a step; {@link ProfilerRanges#NONE} if the device has no profiler. */
    default ProfilerRanges ranges() {
        return ProfilerRanges.NONE;
    }

    /** Copies host memory into a tensor of the same size in bytes. */
    void upload(Tensor destination, MemorySegment source);

    /** Copies a tensor into host memory of the same size in bytes, after all operations issued so far. */
    void download(MemorySegment destination, Tensor source);

    /**
     * The memory of a tensor, if operations are synchronous and work in host memory: valid until an operation writes
     * the tensor. Empty on a device with memory of its own.
     */
    default Optional<MemorySegment> hostMemory(Tensor tensor) {
        return Optional.empty();
    }

    /**
     * Runs work of the host for each of 0 .. tasks-1 on several threads, and returns when all is done. Operations must
     * not be issued meanwhile. On a CPU these are the threads of the operations, which would otherwise wait on the
     * cores that other threads need.
     */
    default void runOnHost(int tasks, IntConsumer work) {
        IntStream.range(0, tasks).parallel().forEach(work);
    }

    /**
     * Starts work of the host for each of 0 .. tasks-1, in any order. Before it is awaited or cancelled, operations
     * may be issued and {@link #runOnHost} may be called, but not this method. On a CPU, threads do the work when they
     * would otherwise wait for each other in operations. Other devices compute meanwhile anyway, so it is done at once.
     */
    default PendingWork startOnHost(int tasks, IntConsumer work) {
        runOnHost(tasks, work);
        return PendingWork.DONE;
    }

    /**
     * Starts an asynchronous copy of a few numbers to the host. At most four copies may be in progress.
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
     * Captures the operations and collectives that {@code operations} issues on this device, without running them.
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

    /** A second engine for attention, installed or not; empty if this device knows none. */
    default Optional<AttentionEngine> secondAttention() {
        return Optional.empty();
    }

    /** The algorithms of this device's matrix products; empty if it has a single one for each. */
    default Optional<ProductAlgorithms> productAlgorithms() {
        return Optional.empty();
    }

    /** The memory usage of this device. */
    MemoryGauge memory();

    /** Releases threads and native resources. */
    @Override
    void close();
}
