package org.isobar.backend.cpu.product;

import org.isobar.tensor.DType;

/**
 * Several products of equal shape, {@code c = factor a b} for each matrix of three stacks. Operands are not packed
 * beforehand. Sums are accumulated in single precision and rounded once, after the multiplication by the factor.
 */
public interface StackedMatmul extends AutoCloseable {
    /**
     * Number and extents of the products.
     *
     * @param count number of products
     * @param m     rows of a left operand
     * @param n     columns of a right operand
     * @param k     columns of a left operand and rows of a right one
     */
    record Extents(long count, long m, long n, long k) { }

    /** Layout of a stack, wherever it is in memory. */
    record Layout(DType dtype, long apart, long stride, boolean transposed) {
        public static Layout of(MatrixStack stack) {
            Matrix first = stack.first();
            return new Layout(first.dtype(), stack.apart(), first.stride(), first.transposed());
        }
    }

    /** The parameters that the products are compiled for. */
    record Key(Extents extents, Layout a, Layout b, Layout c, float factor) {
        /** Returns whether the operands have the layouts of the products. */
        public boolean fits(MatrixStack left, MatrixStack right, MatrixStack result) {
            return Layout.of(left).equals(a) && Layout.of(right).equals(b) && Layout.of(result).equals(c);
        }
    }

    /**
     * Computes the products on the calling thread.
     *
     * @param worker index of the calling thread in the pool
     * @param c      (m, n)
     * @param a      (m, k)
     * @param b      (k, n)
     */
    void run(int worker, MatrixStack c, MatrixStack a, MatrixStack b);

    @Override
    void close();
}
