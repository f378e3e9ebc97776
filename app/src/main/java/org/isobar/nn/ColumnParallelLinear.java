package org.isobar.nn;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * A column-parallel linear layer: its outputs are sharded over tp (Shoeybi et al., 2019). Rank i holds the i-th slice
 * of the rows of W and b and computes the i-th slice of the outputs from the whole input. x is (.., K). W is (N, K)
 * over all ranks and (N/tp, K) on one rank. y is (.., N/tp).
 *
 * <p>Forward needs no communication. In backward every rank computes a partial {@code dx}. The partial gradients are
 * all-reduced over tp while the gradients of W and b are computed.
 */
public final class ColumnParallelLinear implements Layer {
    private final Linear slice;
    private final Layout layout;

    /**
     * Declares this rank's slice of {@code weight} and {@code bias} at {@code here}. Given {@code names}, declares the
     * slices of several layers that share one input; their outputs are concatenated on each rank.
     *
     * @throws org.isobar.fault.UserException if the ranks cannot share {@code outputsEach} evenly
     */
    public ColumnParallelLinear(ParameterScope here, long inputs, long outputsEach, String... names) {
        slice = Linear.outputsCut(here, inputs, outputsEach, names.length == 0 ? new String[] {""} : names);
        layout = here.layout();
    }

    /** This rank's slice of the bias. */
    public Parameter bias() {
        return slice.bias();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        slice.forward(y, x, pass);
    }

    /** Computes {@code y = x W^T} and the epilogue. The caller reports the layer's output by {@link #report}. */
    void multiply(Tensor y, Tensor x, Epilogue epilogue, Pass pass) {
        slice.multiply(y, x, epilogue, pass);
    }

    /** Passes {@code y}, this rank's slice of the layer's output, to the inspector of the pass. */
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

    /** Computes this rank's partial {@code dx} from its slice of {@code dy}. The caller all-reduces it over tp. */
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
