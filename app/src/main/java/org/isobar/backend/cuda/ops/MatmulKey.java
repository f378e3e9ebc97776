package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_N;
import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_T;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * All that the plan of a product depends on. cuBLASLt's matrices lie column by column, ours row by row: what is an
 * (R, C) tensor to us is a C x R matrix to it, transposed without being moved. So each product is computed as its
 * transpose, {@code result^T (m x n) = op(a) (m x k) op(b) (k x n)}.
 *
 * @param kind       which of the three
 * @param m          the result's inner extent
 * @param n          the result's rows
 * @param k          length of the sums
 * @param operands   type of both operands
 * @param result     type of the result, and of the bias
 * @param ending     what follows the sum
 * @param write      what becomes of the result's former contents
 * @param alignmentA of the first operand's address, in bytes: a power of two up to {@link DeviceArena#ALIGNMENT}
 * @param alignmentB of the second operand's address
 * @param alignmentC of the result's address
 */
record MatmulKey(Kind kind, long m, long n, long k, DType operands, DType result, Ending ending, WriteMode write,
    int alignmentA, int alignmentB, int alignmentC) {

    /** The three products of a linear layer, by what cuBLASLt is to transpose. */
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

        /** What is done to the first operand, as cuBLAS numbers it. */
        int operationA() {
            return operationA;
        }

        /** What is done to the second operand. */
        int operationB() {
            return operationB;
        }
    }

    /** What cuBLASLt does with a sum before it stores it. */
    enum Ending {
        /** Nothing. */
        PLAIN,
        /** Adds the bias. */
        BIAS
    }

    /** The same product, to which a bias is added. */
    MatmulKey withBias() {
        return new MatmulKey(kind, m, n, k, operands, result, Ending.BIAS, write, alignmentA, alignmentB, alignmentC);
    }

    /** The largest power of two, up to that of arenas, of which the tensor's address is a multiple. */
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
