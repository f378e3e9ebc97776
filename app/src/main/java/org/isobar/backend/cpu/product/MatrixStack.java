package org.isobar.backend.cpu.product;

/**
 * Matrices of one layout at equal distances in memory, such as the heads of a tensor.
 *
 * @param first the first matrix
 * @param apart elements from the start of a matrix to the start of the next
 */
public record MatrixStack(Matrix first, long apart) {
    /** Returns the transposed matrices, in the same memory. */
    public MatrixStack transpose() {
        return new MatrixStack(first.transpose(), apart);
    }

    /** Returns a matrix by its index. */
    public Matrix get(long index) {
        return new Matrix(first.dtype(), first.address() + index * apart * first.dtype().bytes(), first.stride(),
            first.transposed());
    }
}
