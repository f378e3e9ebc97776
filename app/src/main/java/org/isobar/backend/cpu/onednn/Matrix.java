package org.isobar.backend.cpu.onednn;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * A row-major matrix in host memory, or its transpose. Its extents stand with the product that it enters.
 *
 * @param dtype      of its elements
 * @param address    of the first element in memory
 * @param stride     elements from one stored row to the next
 * @param transposed whether the stored rows are the columns of the matrix
 */
public record Matrix(DType dtype, long address, long stride, boolean transposed) {
    /** The matrix of floats whose rows lie in {@code memory}, {@code stride} elements apart. */
    public static Matrix of(MemorySegment memory, long stride) {
        return of(DType.F32, memory, stride);
    }

    /** The matrix whose rows lie in {@code memory}, {@code stride} elements apart. */
    public static Matrix of(DType dtype, MemorySegment memory, long stride) {
        return new Matrix(dtype, memory.address(), stride, false);
    }

    /** The elements of a tensor in rows of {@code columns}. */
    public static Matrix of(Tensor tensor, long columns) {
        return of(tensor.dtype(), HostStorage.of(tensor), columns);
    }

    /** What of this matrix begins at the given element. */
    public Matrix at(long row, long column) {
        long element = transposed ? column * stride + row : row * stride + column;
        return new Matrix(dtype, address + element * dtype.bytes(), stride, transposed);
    }

    /** Its transpose, in the same memory. */
    public Matrix transpose() {
        return new Matrix(dtype, address, stride, !transposed);
    }
}
