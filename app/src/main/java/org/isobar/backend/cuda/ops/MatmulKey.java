package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_N;
import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_T;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Everything that the plan of a product depends on. cuBLASLt's matrices are column-major, tensors here are row-major:
 * an (R, C) tensor is a C x R matrix to cuBLASLt, its transpose without moving data. Each product is therefore computed
 * as its transpose, {@code result^T (m x n) = op(a) (m x k) op(b) (k x n)}.
 *
 * @param kind       which of the three products
 * @param m          the result's inner extent
 * @param n          the result's rows
 * @param k          length of the sums
 * @param operands   type of both operands
 * @param result     type of the result and of the bias
 * @param ending     the epilogue
 * @param write      whether the result is overwritten or added to
 * @param alignmentA alignment of the first operand's address in bytes: a power of two up to
 *                   {@link DeviceArena#ALIGNMENT}
 * @param alignmentB alignment of the second operand's address
 * @param alignmentC alignment of the result's address
 */
record MatmulKey(Kind kind, long m, long n, long k, DType operands, DType result, Ending ending, WriteMode write,
    int alignmentA, int alignmentB, int alignmentC) {

    /** The three products of a linear layer, with the operands that cuBLASLt transposes. */
    enum Kind {
        /** {@code y^T = W x^T}: a is W, b is x. */
        FORWARD(CUBLAS_OP_T, CUBLAS_OP_N),
        /** {@code dx^T = W^T dy^T}: a is W, b is dy. */
        INPUT_GRADIENT(CUBLAS_OP_N, CUBLAS_OP_N),
        /** {@code dW^T = x^T dy}: a is x, b is dy. */
        WEIGHT_GRADIENT(CUBLAS_OP_N, CUBLAS_OP_T);

        private final int operationA;
        private final int operationB;

        Kind(int operationA, int operationB) {
            this.operationA = operationA;
            this.operationB = operationB;
        }

    /** Operation on the first operand, as cuBLAS numbers it. */
        int operationA() {
            return operationA;
        }

    /** Operation on the second operand, as cuBLAS numbers it. */
        int operationB() {
            return operationB;
        }
    }

    /** The epilogue: what cuBLASLt does with a sum before it stores it. */
    enum Ending {
        /** Nothing. */
        PLAIN,
        /** Adds the bias. */
        BIAS
    }

    /** Returns the key of this product with a bias added. */
    MatmulKey withBias() {
        return new MatmulKey(kind, m, n, k, operands, result, Ending.BIAS, write, alignmentA, alignmentB, alignmentC);
    }

    /** Alignment of the tensor's address: the largest power of two that divides it, at most the alignment of arenas. */
    static int alignment(Tensor tensor) {
        return (int) Math.min(DeviceArena.ALIGNMENT, Long.lowestOneBit(tensor.address()));
    }

    @Override
    public String toString() {
        return "product " + kind + " of " + m + " x " + k + " by " + k + " x " + n + ", " + operands + " to " + result
            + ", " + ending + ", " + write + ", addresses aligned to " + alignmentA + ", " + alignmentB + " and "
            + alignmentC + " bytes";
    }
}
