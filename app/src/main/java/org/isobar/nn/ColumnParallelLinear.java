package org.isobar.nn;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * A linear layer whose outputs are cut over tp (Shoeybi et al., 2019): rank i holds the i-th slice of rows of W and b
 * and computes the i-th slice of outputs from the whole input. x is (.., K), W (N, K) in all and (N/tp, K) on a rank, y
 * (.., N/tp).
 *
 * <p>Forward needs no communication. In backward every rank computes a share of {@code dx}; the shares are summed over
 * tp while the gradients of W and b are computed.
 */
public final class ColumnParallelLinear implements Layer {
    private final Linear slice;
    private final Layout layout;

    /**
     * Declares a slice of {@code weight} and {@code bias} at {@code here}, or of those of several layers of the same
     * input, called {@code names}, whose outputs then follow one another on each rank.
     *
     * @throws org.isobar.fault.UserException if the ranks cannot share {@code outputsEach} evenly
     */
    public ColumnParallelLinear(ParameterScope here, long inputs, long outputsEach, Linear.Bias bias,
        String... names) {
        slice = Linear.outputsCut(here, inputs, outputsEach, bias, names.length == 0 ? new String[] {""} : names);
        layout = here.layout();
    }

    /** This rank's slice of the bias; null if there is none. */
    public Parameter bias() {
        return slice.bias();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        slice.forward(y, x, pass);
    }

    /** {@code y = x W^T} and what follows; the caller reports the layer's output: see {@link #report}. */
    void multiply(Tensor y, Tensor x, Epilogue epilogue, Pass pass) {
        slice.multiply(y, x, epilogue, pass);
    }

    /** Shows {@code y}, this rank's slice of the layer's output, to the inspector of the pass. */
    void report(Tensor y, Pass pass) {
        slice.report(y, pass);
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        backwardInput(dx, dy, WriteMode.OVERWRITE, pass);
        Work sum = layout.tensor().allReduce(dx, Reduction.SUM);
        backwardParameters(dy, x, pass);
        sum.await();
    }

    /** This rank's share of {@code dx}, from its slice of {@code dy}; the caller sums the shares over tp. */
    void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        slice.backwardInput(dx, dy, write, pass);
    }

    /** Adds to the gradients of this rank's slices of weight and bias. */
    void backwardParameters(Tensor dy, Tensor x, Pass pass) {
        slice.backwardParameters(dy, x, pass);
    }

    /** Adds to the gradient of this rank's slice of the weight alone. */
    void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        slice.backwardWeight(dy, x, pass);
    }
}
