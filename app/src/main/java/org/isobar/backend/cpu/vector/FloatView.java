package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.device.Footprint;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * A tensor of F32 or BF16 that kernels access as floats. F32 is accessed in place. Parts of a BF16 tensor are widened
 * into scratch memory for reading; for writing, they are computed in scratch memory and rounded once complete. The
 * scratch should fit in the L1 cache, so that only BF16 data moves to and from memory.
 *
 * @param memory the whole tensor
 * @param dtype  F32 or BF16
 */
public record FloatView(MemorySegment memory, DType dtype) {
    /** Elements of BF16 per chunk. Widened, two such chunks fill half of an L1 cache. */
    private static final long NARROW_CHUNK = 1 << 12;

    /**
     * Bytes of scratch that operations need: two chunks of elements per worker, or a row per worker beside two sums per
     * column for each chunk of rows.
     */
    public static long workspaceBytes(Footprint footprint, int threads) {
        long row = footprint.widestRow();
        return (threads * Math.max(2 * NARROW_CHUNK, row) + 2 * CpuWorkspace.CHUNKS * row) * Float.BYTES;
    }

    /** Returns a view of the elements of {@code tensor}; shares memory. */
    public static FloatView of(Tensor tensor) {
        assert tensor.dtype() == DType.F32 || tensor.dtype() == DType.BF16 : tensor;
        return new FloatView(HostStorage.of(tensor), tensor.dtype());
    }

    /** Elements per chunk for operations that work with any chunk size. */
    public long chunk() {
        return dtype == DType.F32 ? ChunkedRange.ELEMENTS : NARROW_CHUNK;
    }

    /** Floats of scratch needed for parts of {@code elements} elements. */
    public long scratch(long elements) {
        return dtype == DType.F32 ? 0 : elements;
    }

    /** Returns elements {@code from} to {@code to} for reading, in place or widened into {@code scratch}. */
    public MemorySegment read(MemorySegment scratch, long from, long to) {
        MemorySegment room = room(scratch, from, to);
        if (dtype == DType.BF16) {
            Bfloat16.widen(room, elements(from, to));
        }
        return room;
    }

    /** Returns memory to write elements {@code from} to {@code to} into; {@link #keep} then stores them. */
    public MemorySegment room(MemorySegment scratch, long from, long to) {
        return dtype == DType.F32 ? elements(from, to) : Lanes.slice(scratch, 0, to - from);
    }

    /** Stores elements {@code from} to {@code to} from the memory that {@link #room} returned. */
    public void keep(MemorySegment room, long from, long to) {
        if (dtype == DType.BF16) {
            Bfloat16.narrow(elements(from, to), room);
        }
    }

    /** Returns a view of elements {@code from} to {@code to}; shares memory. */
    public FloatView part(long from, long to) {
        return new FloatView(elements(from, to), dtype);
    }

    /** Returns elements {@code from} to {@code to}, in place and in their type. */
    public MemorySegment elements(long from, long to) {
        return memory.asSlice(from * dtype.bytes(), (to - from) * dtype.bytes());
    }
}
