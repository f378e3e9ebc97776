package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

/**
 * A row-major matrix of floats in host memory, or its transpose. Its extents stand with the product that it enters.
 *
 * @param address    of the first element in memory
 * @param stride     elements from one stored row to the next
 * @param transposed whether the stored rows are the columns of the matrix
 */
record Matrix(long address, long stride, boolean transposed) {
    /** The matrix whose rows lie in {@code memory}, {@code stride} elements apart. */
    static Matrix of(MemorySegment memory, long stride) {
        return new Matrix(memory.address(), stride, false);
    }

    /** What of this matrix begins at the given element. */
    Matrix at(long row, long column) {
        long element = transposed ? column * stride + row : row * stride + column;
        return new Matrix(address + element * Float.BYTES, stride, transposed);
    }

    /** Its transpose, in the same memory. */
    Matrix transpose() {
        return new Matrix(address, stride, !transposed);
    }
}
