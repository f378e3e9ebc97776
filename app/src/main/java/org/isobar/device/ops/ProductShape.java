package org.isobar.device.ops;

import org.isobar.device.DeviceArena;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A matrix product of a linear layer, with everything that the choice of its algorithm depends on. Tensors are
 * row-major, and BLAS is column-major: an (R, C) tensor is a C x R matrix there, its transpose without moving data. The
 * extents are therefore those of the transposed product, {@code result^T (m x n) = op(a) (m x k) op(b) (k x n)}.
 *
 * @param kind       which of the three products
 * @param m          the result's inner extent
 * @param n          the result's rows
 * @param k          length of the sums
 * @param operands   type of both operands
 * @param result     type of the result, of the bias and of its gradient
 * @param ending     the epilogue
 * @param write      whether the result is overwritten or added to
 * @param alignmentA alignment of the first operand's address in bytes: a power of two up to
 *                   {@link DeviceArena#ALIGNMENT}
 * @param alignmentB alignment of the second operand's address
 * @param alignmentC alignment of the result's address
 */
public record ProductShape(Kind kind, long m, long n, long k, DType operands, DType result, Ending ending,
    WriteMode write, int alignmentA, int alignmentB, int alignmentC) {

    /** The three products of a linear layer. */
    public enum Kind {
        /** {@code y^T = W x^T}: a is W, b is x. */
        FORWARD,
        /** {@code dx^T = W^T dy^T}: a is W, b is dy. */
        INPUT_GRADIENT,
        /** {@code dW^T = x^T dy}: a is x, b is dy. */
        WEIGHT_GRADIENT
    }

    /** The epilogue: what is computed besides the product. */
    public enum Ending {
        /** Nothing. */
        PLAIN,
        /** Adds the bias to the result before it is stored. */
        BIAS,
        /** Sums the rows of dy in a weight's gradient: the gradient of the bias. */
        BIAS_GRADIENT
    }

    /** The product {@code y = x W^T}, and with {@link Ending#BIAS} {@code + b}. */
    public static ProductShape forward(Tensor y, Tensor x, Tensor weight, Ending ending) {
        return of(Kind.FORWARD, weight, x, y, x.shape().extent(-1), ending, WriteMode.OVERWRITE);
    }

    /** The product {@code dx = dy W}, overwriting dx or adding to it. */
    public static ProductShape inputGradient(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        return of(Kind.INPUT_GRADIENT, weight, dy, dx, dy.shape().extent(-1), Ending.PLAIN, write);
    }

    /** The product {@code dW += dy^T x}, and with {@link Ending#BIAS_GRADIENT} the sum over rows of dy. */
    public static ProductShape weightGradient(Tensor dWeight, Tensor dy, Tensor x, Ending ending) {
        return of(Kind.WEIGHT_GRADIENT, x, dy, dWeight, x.shape().rows(), ending, WriteMode.ADD);
    }

    /** This product without an epilogue. */
    public ProductShape plain() {
        return new ProductShape(kind, m, n, k, operands, result, Ending.PLAIN, write, alignmentA, alignmentB,
            alignmentC);
    }

    private static ProductShape of(Kind kind, Tensor a, Tensor b, Tensor c, long k, Ending ending, WriteMode write) {
        return new ProductShape(kind, c.shape().extent(-1), c.shape().rows(), k, a.dtype(), c.dtype(), ending, write,
            alignment(a), alignment(b), alignment(c));
    }

    /** Alignment of the tensor's address: the largest power of two that divides it, at most the alignment of arenas. */
    public static int alignment(Tensor tensor) {
        return (int) Long.lowestOneBit(tensor.address() | DeviceArena.ALIGNMENT);
    }

    @Override
    public String toString() {
        return "product " + kind + " of " + m + " x " + k + " by " + k + " x " + n + ", " + operands + " to " + result
            + ", " + ending + ", " + write + ", addresses aligned to " + alignmentA + ", " + alignmentB + " and "
            + alignmentC + " bytes";
    }
}
