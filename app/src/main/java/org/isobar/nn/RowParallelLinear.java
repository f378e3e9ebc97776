package org.isobar.nn;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.Tensor;

/**
 * A row-parallel linear layer: its inputs are sharded over tp (Shoeybi et al., 2019). Rank i holds the i-th slice of
 * the columns of W and multiplies it by the i-th slice of the inputs. The products are all-reduced over tp. x is (..,
 * K/tp). W is (N, K) over all ranks and (N, K/tp) on one rank. y is (.., N). Every rank holds the whole bias. Only the
 * first rank adds it, so the sum contains it once.
 *
 * <p>Backward needs no communication: {@code dx} is this rank's slice.
 */
public final class RowParallelLinear implements Layer {
    private final Linear slice;
    private final Layout layout;
    private final boolean addsBias; // on this rank

    /**
     * Declares a slice of {@code weight} and the whole {@code bias} at {@code here}.
     *
     * @throws org.isobar.fault.UserException if the ranks cannot share {@code inputs} evenly
     */
    public RowParallelLinear(ParameterScope here, long inputs, long outputs) {
        slice = Linear.inputsCut(here, inputs, outputs);
        layout = here.layout();
        addsBias = layout.tensor().group().index() == 0;
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        slice.multiply(y, x, addsBias ? slice.addBias() : Epilogue.NONE, pass);
        layout.tensor().allReduce(y, Reduction.SUM).await();
        slice.report(y, pass);
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        slice.backward(dx, dy, x, pass);
    }

    /** Computes this rank's slice of {@code dx}. */
    void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        slice.backwardInput(dx, dy, write, pass);
    }

    /** The whole bias. */
    Parameter bias() {
        return slice.bias();
    }

    /** Adds to the gradients of this rank's slice of the weight and, unless left out, of the bias. */
    void backwardParameters(Tensor dy, Tensor x, Branch.LastBias bias, Pass pass) {
        if (bias == Branch.LastBias.LEFT_OUT) {
            slice.backwardWeight(dy, x, pass);
        } else {
            slice.backwardParameters(dy, x, pass);
        }
    }
}
