package org.isobar.backend.cpu.attention;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.onednn.Matrix;
import org.isobar.backend.cpu.onednn.Packing;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.tensor.DType;

/**
 * Right operands of attention's products: the queries, or keys, or what is shaped like them, of all heads, each block
 * packed for itself. In the tensor the rows of a head lie far apart, and each product would pack them anew. In single
 * precision some are taken as they lie, by oneDNN's function, where that is faster.
 */
final class AttentionOperand {
    /** Columns that oneDNN packs side by side: 64 with AVX-512, at most 24 without. */
    private static final int GRAIN = 64;
    private static final int SMALL_GRAIN = 24;
    /** For sums of so many terms in single precision, oneDNN 3.11 compiles for AVX2, half as fast as its function. */
    private static final int SLOW_TERMS = 32;
    /** So often is an operand in single precision to be used for its packing to pay. */
    private static final int FEWEST_USES = 3;

    private final BlockedRange cut;
    private final Left left;
    private final Source source;
    private final Matrix first;
    private final long headDim;
    private final long address;
    private final long room;
    private final Packing whole; // null where blocks are taken as they lie
    private final Packing last; // likewise

    /** Where a block of a head lies. */
    @FunctionalInterface
    interface Source {
        /** (tokens, D), or transposed. */
        Matrix at(int head, int block);

        /** The same, transposed. */
        default Source transposed() {
            return (head, block) -> at(head, block).transpose();
        }
    }

    /**
     * The left operands of the same products.
     *
     * @param cut        of their rows
     * @param transposed whether their stored rows are their columns
     */
    record Left(BlockedRange cut, boolean transposed) { }

    /**
     * An operand that is yet to be packed.
     *
     * @param matmuls compiles what packs it
     * @param headDim D
     * @param source  (tokens, D), or transposed
     * @param cut     of the tokens
     * @param address of {@link #bytes} bytes
     */
    AttentionOperand(MatmulCache matmuls, long headDim, Source source, BlockedRange cut, Left left, long address) {
        this.cut = cut;
        this.left = left;
        this.source = source;
        this.headDim = headDim;
        this.address = address;
        first = source.at(0, 0);
        room = room(first.dtype(), cut, headDim);
        whole = packing(matmuls, 0);
        last = packing(matmuls, cut.blocks() - 1);
    }

    private Packing packing(MatmulCache matmuls, int block) {
        boolean single = first.dtype() == DType.F32;
        // The primitive takes a transposed left operand a fifth slower than the function.
        if (single && (terms(block) == SLOW_TERMS || left.cut.blocks() < FEWEST_USES || left.transposed)) {
            return null;
        }
        Packing packing = matmuls.packing(first, terms(block), columns(block), left.cut.side(), DType.F32);
        if (packing.bytes() <= room) {
            return packing;
        }
        if (single) {
            return null;
        }
        throw new IllegalStateException("oneDNN packs " + packing.key() + " to " + packing.bytes() + " bytes");
    }

    /** Bytes that the operand takes at most for all of {@code heads} heads. */
    static long bytes(DType dtype, BlockedRange cut, long headDim, int heads) {
        return heads * cut.blocks() * room(dtype, cut, headDim);
    }

    private static long room(DType dtype, BlockedRange cut, long headDim) {
        long bytes = padded(cut.side()) * padded(headDim) * dtype.bytes();
        return Math.ceilDiv(bytes, CpuWorkspace.CACHE_LINE) * CpuWorkspace.CACHE_LINE;
    }

    private static long padded(long extent) {
        return Math.max(Math.ceilDiv(extent, GRAIN) * GRAIN, extent + SMALL_GRAIN);
    }

    /** How the given block is packed; null where it is taken as it lies. */
    Packing packing(int block) {
        return block == cut.blocks() - 1 ? last : whole;
    }

    /** Columns of the given block. */
    long columns(int block) {
        return first.transposed() ? cut.length(block) : headDim;
    }

    /** Its rows: terms of a product's sums. */
    long terms(int block) {
        return first.transposed() ? headDim : cut.length(block);
    }

    /** Blocks of a head. */
    int blocks() {
        return cut.blocks();
    }

    /** Address of a packed block. */
    long at(int head, int block) {
        return address + ((long) head * cut.blocks() + block) * room;
    }

    /** A block as it lies. */
    Matrix plain(int head, int block) {
        return source.at(head, block);
    }

    /** Packs a block, if products take it packed, on the calling thread, which is the pool's {@code worker}. */
    void pack(int worker, int head, int block) {
        Packing packing = packing(block);
        if (packing != null) {
            packing.pack(worker, at(head, block), source.at(head, block));
        }
    }
}
