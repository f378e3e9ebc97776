package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.device.Footprint;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * A tensor of F32 or BF16 as kernels see it: in floats. F32 is seen where it lies; of BF16, parts are widened into
 * scratch memory, or written there and rounded once they are complete. The scratch is to be small enough for the
 * innermost cache, so that memory sees only what the tensor holds.
 *
 * @param memory all of the tensor
 * @param dtype  F32 or BF16
 */
public record FloatView(MemorySegment memory, DType dtype) {
    /** As many elements of BF16 as are gone over at once: widened, two of these fill half of an innermost cache. */
    private static final long NARROW_CHUNK = 1 << 12;

    /**
     * Bytes that operations take of scratch: two chunks of elements for each worker, or a row beside two sums over each
     * of its columns in each chunk of rows.
     */
    public static long workspaceBytes(Footprint footprint, int threads) {
        long row = footprint.widestRow();
        return (threads * Math.max(2 * NARROW_CHUNK, row) + 2 * CpuWorkspace.CHUNKS * row) * Float.BYTES;
    }

    /** The elements of {@code tensor}; shares memory. */
    public static FloatView of(Tensor tensor) {
        assert tensor.dtype() == DType.F32 || tensor.dtype() == DType.BF16 : tensor;
        return new FloatView(HostStorage.of(tensor), tensor.dtype());
    }

    /** How many elements are worked on at once where it does not matter how many. */
    public long chunk() {
        return dtype == DType.F32 ? ChunkedRange.ELEMENTS : NARROW_CHUNK;
    }

    /** Floats of scratch for parts of {@code elements} elements. */
    public long scratch(long elements) {
        return dtype == DType.F32 ? 0 : elements;
    }

    /** Elements {@code from} to {@code to}, to be read: themselves, or in {@code scratch}. */
    public MemorySegment read(MemorySegment scratch, long from, long to) {
        MemorySegment room = room(scratch, from, to);
        if (dtype == DType.BF16) {
            Bfloat16.widen(room, halves(from, to));
        }
        return room;
    }

    /** Where elements {@code from} to {@code to} are to be written before {@link #keep} is called. */
    public MemorySegment room(MemorySegment scratch, long from, long to) {
        return dtype == DType.F32 ? Lanes.slice(memory, from, to) : Lanes.slice(scratch, 0, to - from);
    }

    /** Sees to it that elements {@code from} to {@code to} are what was written to their room. */
    public void keep(MemorySegment room, long from, long to) {
        if (dtype == DType.BF16) {
            Bfloat16.narrow(halves(from, to), room);
        }
    }

    /** Elements {@code from} to {@code to}; shares memory. */
    public FloatView part(long from, long to) {
        return new FloatView(memory.asSlice(from * dtype.bytes(), (to - from) * dtype.bytes()), dtype);
    }

    private MemorySegment halves(long from, long to) {
        return memory.asSlice(from * Short.BYTES, (to - from) * Short.BYTES);
    }
}
