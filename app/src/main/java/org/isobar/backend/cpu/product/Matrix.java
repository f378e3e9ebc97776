package org.isobar.backend.cpu.product;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * A row-major matrix in host memory, or its transpose. The product that uses it gives its extents.
 *
 * @param dtype      of the elements
 * @param address    of the first element in memory
 * @param stride     elements from one stored row to the next
 * @param transposed whether the stored rows are the columns of the matrix
 */
public record Matrix(DType dtype, long address, long stride, boolean transposed) {
    /** Returns the F32 matrix whose rows are in {@code memory}, {@code stride} elements apart. */
    public static Matrix of(MemorySegment memory, long stride) {
        return of(DType.F32, memory, stride);
    }

    /** Returns the matrix whose rows are in {@code memory}, {@code stride} elements apart. */
    public static Matrix of(DType dtype, MemorySegment memory, long stride) {
        return new Matrix(dtype, memory.address(), stride, false);
    }

    /** Returns the elements of a tensor as rows of {@code columns} elements. */
    public static Matrix of(Tensor tensor, long columns) {
        return of(tensor.dtype(), HostStorage.of(tensor), columns);
    }

    /** Returns the submatrix that starts at the given element. */
    public Matrix at(long row, long column) {
        long element = transposed ? column * stride + row : row * stride + column;
        return new Matrix(dtype, address + element * dtype.bytes(), stride, transposed);
    }

    /** Returns the transpose, in the same memory. */
    public Matrix transpose() {
        return new Matrix(dtype, address, stride, !transposed);
    }
}
