package org.isobar.backend.dryrun;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceType;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.InPlaceBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.checks.CheckedTensorOps;
import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;

/**
 * A device that allocates and computes nothing. A step on it runs every check of shapes, types and overlap and records
 * what a real step would need: the arenas' high watermarks, the widest row, and the numbers of floating-point
 * operations and of bytes moved.
 */
public final class DryRunDevice implements Device {
    private final CountingTensorOps counting = new CountingTensorOps();
    private TensorOps ops = CheckedTensorOps.of(counting.byFamily());
    private final List<DeviceArena> arenas = new ArrayList<>();
    private final Readings readings;
    private long hostBytes;

    /** What a dry run reads from its tensors, which have no memory. */
    public interface Readings {
        /** The values of {@code source} are copied to {@code destination}. */
        void uploaded(Tensor destination, MemorySegment source);

        /** Writes to {@code destination} what {@code source} is to contain; may leave it as it is. */
        void download(MemorySegment destination, Tensor source);
    }

    /** Receives the operations of a dry run in the order in which they are issued. */
    @FunctionalInterface
    public interface Observer {
        /**
         * An operation was issued.
         *
         * @param name      name of the operation, unique across families
         * @param arguments its arguments, as {@link TensorOps} declares them
         * @param flops     floating-point operations; see {@link #flops()}
         * @param bytes     bytes read and written; see {@link #bytes()}
         */
        void issued(String name, List<Object> arguments, double flops, double bytes);
    }

    /** A device that reads nothing: downloads leave their destinations as they are. */
    public DryRunDevice() {
        this(new Readings() {
            @Override
            public void uploaded(Tensor destination, MemorySegment source) { }

            @Override
            public void download(MemorySegment destination, Tensor source) { }
        });
    }

    /** A device that reads what {@code readings} say. */
    public DryRunDevice(Readings readings) {
        this.readings = readings;
    }

    /** Tells {@code observer} of every operation that is issued from now on. */
    public void observe(Observer observer) {
        ops = ops.wrapped(new TensorOps.FamilyWrapper() {
            @Override
            public <T> T wrap(Class<T> family, T plain) {
                return family.cast(Proxy.newProxyInstance(family.getClassLoader(), new Class<?>[] {family},
                    (_, method, arguments) -> observed(observer, plain, method, arguments)));
            }
        });
    }

    private Object observed(Observer observer, Object plain, Method method, Object... arguments) throws Throwable {
        double flopsBefore = counting.flops();
        double bytesBefore = counting.bytes();
        try {
            Object result = method.invoke(plain, arguments);
            observer.issued(method.getName(), Arrays.asList(arguments), counting.flops() - flopsBefore,
                counting.bytes() - bytesBefore);
            return result;
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    /** Storage without memory. A class rather than a record, so that two instances are never equal. */
    private static final class Nowhere implements Storage {
        private final long bytes;

        private Nowhere(long bytes) {
            this.bytes = bytes;
        }

        @Override
        public long address() {
            return 0;
        }

        @Override
        public long bytes() {
            return bytes;
        }
    }

    @Override
    public String description() {
        return "dry run";
    }

    /** Plans assume a GPU, which keeps only batches in host memory. */
    @Override
    public DeviceType type() {
        return DeviceType.CUDA;
    }

    @Override
    public TensorOps ops() {
        return ops;
    }

    /** Supports every type, because nothing is computed. */
    @Override
    public boolean supports(DType dtype) {
        return dtype != DType.F64;
    }

    /** Floating-point operations of the matrix products and of attention so far; see {@link CountingTensorOps}. */
    public double flops() {
        return counting.flops();
    }

    /** Bytes of tensors that operations have read and written so far; see {@link CountingTensorOps}. */
    public double bytes() {
        return counting.bytes();
    }

    /** The largest extents of all operations so far. */
    public Footprint footprint() {
        return counting.footprint();
    }

    /** Creates an arena of unlimited capacity. Its high watermark is the capacity that a real arena would need. */
    @Override
    public DeviceArena arena(String name, long bytes) {
        DeviceArena arena = new DeviceArena(name, new Nowhere(Long.MAX_VALUE), () -> { });
        arenas.add(arena);
        return arena;
    }

    /** Creates a buffer whose segment is empty. */
    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        long bytes = shape.elements() * dtype.bytes();
        hostBytes += bytes;
        Tensor tensor = new Tensor(new Nowhere(bytes), 0, dtype, shape);
        return new InPlaceBuffer(MemorySegment.NULL, tensor, () -> { });
    }

    /** Does nothing. */
    @Override
    public void reserve(Footprint footprint) { }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        readings.uploaded(destination, source);
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        readings.download(destination, source);
    }

    /** The bytes that all arenas and host buffers created so far would need at most. */
    @Override
    public MemoryGauge memory() {
        return () -> hostBytes + arenas.stream().mapToLong(DeviceArena::highWatermark).sum();
    }

    @Override
    public void close() { }
}
