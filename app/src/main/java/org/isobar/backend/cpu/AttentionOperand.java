package org.isobar.backend.cpu;

import org.isobar.tensor.DType;

/**
 * Right operands of attention's products: the queries, or keys, or what is shaped like them, of all heads, each block
 * packed for itself. In the tensor the rows of a head lie far apart, and each product would pack them anew.
 */
final class AttentionOperand {
    /** Extents of a packed operand are multiples of this many elements at most. */
    private static final int GRAIN = 64;
    /** For sums of so many terms in single precision, oneDNN 3.11 compiles for AVX2, half as fast as its function. */
    private static final int SLOW_TERMS = 32;
    /** So often is an operand in single precision to be used for its packing to pay. */
    private static final int FEWEST_USES = 3;

    private final Cut cut;
    private final Cut left;
    private final Source source;
    private final long address;
    private final long room;
    private final Packing whole;
    private final Packing last;

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
     * An operand that is yet to be packed.
     *
     * @param matmuls compiles what packs it
     * @param headDim D
     * @param source  (tokens, D), or transposed
     * @param cut     of the tokens
     * @param left    of the rows of the left operands
     * @param address of {@link #bytes} bytes
     */
    AttentionOperand(Matmuls matmuls, long headDim, Source source, Cut cut, Cut left, long address) {
        this.cut = cut;
        this.left = left;
        this.source = source;
        this.address = address;
        Matrix first = source.at(0, 0);
        room = room(first.dtype(), cut, headDim);
        whole = packing(matmuls, first, cut.length(0), headDim);
        last = packing(matmuls, first, cut.length(cut.blocks() - 1), headDim);
    }

    private Packing packing(Matmuls matmuls, Matrix matrix, long tokens, long headDim) {
        Packing packing = matrix.transposed() ? matmuls.packing(matrix, headDim, tokens, left.side(), DType.F32)
            : matmuls.packing(matrix, tokens, headDim, left.side(), DType.F32);
        if (packing.bytes() > room) {
            throw new IllegalStateException("oneDNN packs " + packing.key() + " to " + packing.bytes() + " bytes");
        }
        return packing;
    }

    /** Bytes that the operand takes at most for all of {@code heads} heads. */
    static long bytes(DType dtype, Cut cut, long headDim, int heads) {
        return heads * cut.blocks() * room(dtype, cut, headDim);
    }

    private static long room(DType dtype, Cut cut, long headDim) {
        return Math.ceilDiv(cut.side(), GRAIN) * Math.ceilDiv(headDim, GRAIN) * GRAIN * GRAIN * dtype.bytes();
    }

    /** How the given block is packed. */
    Packing packing(int block) {
        return block == cut.blocks() - 1 ? last : whole;
    }

    /** Blocks of a head. */
    int blocks() {
        return cut.blocks();
    }

    /** Address of a packed block. */
    long at(int head, int block) {
        return address + ((long) head * cut.blocks() + block) * room;
    }

    /** Whether products take the given block as it lies. */
    boolean isPlain(int block) {
        Packing.Key key = packing(block).key();
        return key.dtype() == DType.F32 && (key.k() == SLOW_TERMS || left.blocks() < FEWEST_USES);
    }

    /** A block as it lies. */
    Matrix plain(int head, int block) {
        return source.at(head, block);
    }

    /** Packs a block, if products take it packed, on the calling thread, which is the pool's {@code worker}. */
    void pack(int worker, int head, int block) {
        if (!isPlain(block)) {
            packing(block).pack(worker, at(head, block), source.at(head, block));
        }
    }
}
