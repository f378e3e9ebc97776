package org.isobar.backend.cpu.attention;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.tensor.DType;

/**
 * A right operand of attention's products: queries, keys, or a tensor of such a shape, for all heads, with each block
 * packed separately. Rows of a head are far apart in the tensor, and without packing each product would pack them
 * again. In single precision some operands are not packed: oneDNN's direct function is faster for them, or their
 * products pack blocks so quickly that keeping them is not worth the memory.
 */
final class AttentionOperand {
    /** Columns that oneDNN packs side by side: 64 with AVX-512, at most 24 without. */
    private static final int GRAIN = 64;
    private static final int SMALL_GRAIN = 24;
    /**
     * For sums of this many terms in single precision, oneDNN 3.11 compiles an AVX2 primitive, half as fast as its
     * function.
     */
    private static final int SLOW_TERMS = 32;
    /** Minimum number of uses for which packing an operand in single precision pays off. */
    private static final int FEWEST_USES = 3;

    private final BlockedRange cut;
    private final Left left;
    private final Source source;
    private final Matrix first;
    private final long headDim;
    private final long address;
    private final long room;
    private final Packing whole; // null if blocks are not packed
    private final Packing last; // null if the last block is not packed

    /** Locates a block of a head in memory. */
    @FunctionalInterface
    interface Source {
        /** Returns the block, (tokens, D) or transposed. */
        Matrix at(int head, int block);

        /** Returns a source of the transposed blocks. */
        default Source transposed() {
            return (head, block) -> at(head, block).transpose();
        }
    }

    /**
     * The left operands of the products.
     *
     * @param cut        blocks of their rows
     * @param transposed whether their stored rows are their columns
     */
    record Left(BlockedRange cut, boolean transposed) { }

    /**
     * Creates an operand that is not packed yet.
     *
     * @param matmuls compiles the packing
     * @param headDim D
     * @param source  (tokens, D), or transposed
     * @param cut     blocks of the tokens
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
        // With a transposed left operand, oneDNN's primitive is a fifth slower than its function. With our own code,
        // packing such a block takes a twentieth of its product's time.
        if (single && (left.transposed
            || !GeneratedCode.hasProducts(DType.F32)
                && (terms(block) == SLOW_TERMS || left.cut.blocks() < FEWEST_USES))) {
            return null;
        }
        Packing packing = matmuls.packing(first, terms(block), columns(block), left.cut.side(), DType.F32);
        if (packing.bytes() <= room) {
            return packing;
        }
        if (single) {
            return null;
        }
        throw new IllegalStateException(packing.key() + " takes " + packing.bytes() + " bytes, more than " + room);
    }

    /** Maximum bytes of the operand for {@code heads} heads. */
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

    /** Packing of the given block, or null if it is not packed. */
    Packing packing(int block) {
        return block == cut.blocks() - 1 ? last : whole;
    }

    /** Columns of the given block. */
    long columns(int block) {
        return first.transposed() ? cut.length(block) : headDim;
    }

    /** Rows of the given block, which are the terms of a product's sums. */
    long terms(int block) {
        return first.transposed() ? headDim : cut.length(block);
    }

    /** Number of blocks of a head. */
    int blocks() {
        return cut.blocks();
    }

    /** Address of a packed block. */
    long at(int head, int block) {
        return address + ((long) head * cut.blocks() + block) * room;
    }

    /** Returns an unpacked block. */
    Matrix plain(int head, int block) {
        return source.at(head, block);
    }

    /** Packs a block, if it has a packing, on the calling thread, which has index {@code worker} in the pool. */
    void pack(int worker, int head, int block) {
        Packing packing = packing(block);
        if (packing != null) {
            packing.pack(worker, at(head, block), source.at(head, block));
        }
    }
}
