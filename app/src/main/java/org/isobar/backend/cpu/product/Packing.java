package org.isobar.backend.cpu.product;

import org.isobar.tensor.DType;

/** The packed layout of a right operand, which the products of one shape read once and in order. */
public interface Packing extends AutoCloseable {
    /**
     * The parameters that a packing is created for.
     *
     * @param dtype      of the operands
     * @param result     type of the products
     * @param rows       approximate number of rows of the left operands
     * @param n          columns of the right operand
     * @param k          rows of the right operand
     * @param stride     elements from one stored row of the right operand to the next
     * @param transposed whether the stored rows are its columns
     */
    record Key(DType dtype, DType result, long rows, long n, long k, long stride, boolean transposed) {
        /** Returns whether {@code b} has the type and layout of the right operand. */
        public boolean fits(Matrix b) {
            return b.stride() == stride && b.transposed() == transposed && b.dtype() == dtype;
        }
    }

    Key key();

    /** Bytes of a packed operand, a multiple of the cache line size. */
    long bytes();

    /** Packs {@code b} to the address {@code to} on the calling thread, which has index {@code worker} in the pool. */
    void pack(int worker, long to, Matrix b);

    @Override
    void close();
}
