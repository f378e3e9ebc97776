package org.isobar.verify.contract;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

import org.isobar.device.Device;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.verify.reference.NumberFormats;

/** A tensor between two guard regions, with a host copy of its initial contents. */
final class GuardedTensor {
    /** Bytes of each guard: the alignment of an arena, so that the tensor keeps it. */
    private static final int GUARD_BYTES = org.isobar.device.DeviceArena.ALIGNMENT;
    /** A quiet NaN that arithmetic does not produce. Reading it corrupts the result; overwriting it is detected. */
    private static final byte GUARD_BYTE = (byte) 0xFF;

    private final String name;
    private final boolean written;
    private final Tensor guarded;
    private final Tensor tensor;
    private final MemorySegment before;
    private final int guard; // elements

    GuardedTensor(String name, boolean written, org.isobar.device.DeviceArena arena, Arena host, DType dtype,
        Shape shape) {
        this.name = name;
        this.written = written;
        guard = GUARD_BYTES / dtype.bytes();
        guarded = arena.allocate(dtype, shape.elements() + 2 * guard);
        tensor = guarded.slice(guard, shape.elements()).reshape(shape.extents());
        before = host.allocate(guarded.bytes(), dtype.bytes()).fill(GUARD_BYTE);
    }

    /** The tensor passed to the operation. */
    Tensor tensor() {
        return tensor;
    }

    String name() {
        return name;
    }

    /** Whether the operation may write to it. */
    boolean written() {
        return written;
    }

    /** The values before the operation, rounded to the type. */
    double[] values() {
        return elements(before);
    }

    void put(Device device, double[] values) {
        for (int i = 0; i < values.length; i++) {
            NumberFormats.put(before, tensor.dtype(), guard + i, values[i]);
        }
        device.upload(guarded, before);
    }

    /** Downloads the current contents, guards included. */
    MemorySegment take(Device device, Arena host) {
        MemorySegment now = host.allocate(guarded.bytes(), tensor.dtype().bytes());
        device.download(now, guarded);
        return now;
    }

    /** The elements of the tensor, from a copy that includes the guards. */
    double[] elements(MemorySegment whole) {
        double[] elements = new double[Math.toIntExact(tensor.elements())];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = NumberFormats.take(whole, tensor.dtype(), guard + i);
        }
        return elements;
    }

    /** The offset, relative to the tensor, of the first byte that was changed without permission; or empty. */
    OptionalLong trespass(MemorySegment now) {
        long end = GUARD_BYTES + tensor.bytes();
        long first = now.mismatch(before);
        if (first < 0) {
            return OptionalLong.empty();
        }
        if (!written || first < GUARD_BYTES) {
            return OptionalLong.of(first - GUARD_BYTES);
        }
        long behind = now.asSlice(end).mismatch(before.asSlice(end));
        return behind < 0 ? OptionalLong.empty() : OptionalLong.of(tensor.bytes() + behind);
    }
}
