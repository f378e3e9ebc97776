package org.isobar.train.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Device memory of a trial: pseudo-random inputs, and results that are compared on the host. */
final class TrialMemory implements AutoCloseable {
    /** The inputs repeat after so many numbers; no extent is a multiple of it. */
    private static final int PERIOD = 99_991;
    private static final long PIECE = 1L << 30; // a byte buffer has less than 2 GiB

    private final Device device;
    private final String name;
    private final DeviceArena arena;
    private final Tensor staging; // (PERIOD), F32

    /**
     * Allocates memory on the device.
     *
     * @param bytes of all tensors, as {@link #bytes} counts them
     * @throws org.isobar.device.OutOfDeviceMemoryException if they do not fit
     */
    TrialMemory(Device device, String name, long bytes) {
        this.device = device;
        this.name = name;
        arena = device.arena(name, bytes + bytes(DType.F32, PERIOD));
        staging = arena.allocate(DType.F32, PERIOD);
    }

    /** Bytes that a tensor takes. */
    static long bytes(DType dtype, long elements) {
        return DeviceArena.align(elements * dtype.bytes());
    }

    Tensor allocate(DType dtype, long... extents) {
        return arena.allocate(dtype, extents);
    }

    /**
     * Fills a tensor with normally distributed numbers, the same ones for the same name. The device repeats them: a
     * tensor may have gigabytes.
     */
    Tensor fill(String tensorName, Tensor tensor) {
        Philox.Key key = Philox.Key.of(0, name + "/" + tensorName);
        Tensor flat = tensor.reshape(tensor.elements());
        float[] numbers = Philox.normals(key, (int) Math.min(PERIOD, flat.elements()), 1);
        Tensor first = flat.slice(0, numbers.length);
        Tensor exact = tensor.dtype() == DType.F32 ? first : staging.slice(0, numbers.length);
        device.upload(exact, MemorySegment.ofArray(numbers));
        if (exact != first) {
            device.ops().memory().cast(first, exact);
        }
        for (long filled = numbers.length; filled < flat.elements(); filled *= 2) {
            long more = Math.min(filled, flat.elements() - filled);
            device.ops().memory().copy(flat.slice(filled, more), flat.slice(0, more));
        }
        return tensor;
    }

    /** A copy of the tensor, after all operations issued so far. */
    MemorySegment download(Tensor tensor, Arena host) {
        MemorySegment copy = host.allocate(tensor.bytes(), Double.BYTES);
        device.download(copy, tensor);
        return copy;
    }

    /** A checksum of the tensor's bits. */
    long digest(Tensor tensor) {
        CRC32C sum = new CRC32C();
        try (Arena host = Arena.ofConfined()) {
            MemorySegment bits = download(tensor, host);
            for (long at = 0; at < bits.byteSize(); at += PIECE) {
                sum.update(bits.asSlice(at, Math.min(PIECE, bits.byteSize() - at)).asByteBuffer());
            }
        }
        return sum.getValue();
    }

    /** A number of a downloaded tensor. */
    static double element(MemorySegment numbers, DType dtype, long i) {
        return switch (dtype) {
            case F32 -> numbers.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            case F16 -> Float.float16ToFloat(numbers.getAtIndex(ValueLayout.JAVA_SHORT, i));
            case BF16 -> Float.intBitsToFloat(numbers.getAtIndex(ValueLayout.JAVA_SHORT, i) << Short.SIZE);
            case F64 -> numbers.getAtIndex(ValueLayout.JAVA_DOUBLE, i);
        };
    }

    /** The largest relative error of a number that is rounded to this type. */
    static double roundoff(DType dtype) {
        return switch (dtype) {
            case F32 -> 0x1p-24;
            case F16 -> 0x1p-11;
            case BF16 -> 0x1p-8;
            case F64 -> 0x1p-53;
        };
    }

    @Override
    public void close() {
        arena.close();
    }
}
