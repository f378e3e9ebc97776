package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.Tensor;

/**
 * A linear layer whose inputs are cut over tp (Shoeybi et al., 2019): rank i holds the i-th slice of columns of W and
 * multiplies the i-th slice of inputs; the products are summed over tp. W is (N, K) in all and (N, K/tp) on a rank, y
 * (.., N). The bias is whole on every rank and enters the sum once, with the product of the first rank.
 *
 * <p>Backward needs no communication where the input was cut already: {@code dx} is this rank's slice.
 */
public final class RowParallelLinear implements Layer {
    private final Linear slice;
    private final ChannelSplit columns;
    private final Input input;
    private final Layout layout;
    private final Linear.Bias brought; // by this rank

    /** How the input comes. */
    public enum Input {
        /** Cut already: x is (.., K/tp). */
        CUT,
        /** Whole, (.., K), the same on every rank: each takes its slice. */
        WHOLE
    }

    /**
     * Declares a slice of {@code weight} and the whole {@code bias} at {@code here}.
     *
     * @throws org.isobar.fault.UserException if the ranks cannot share {@code inputs} evenly
     */
    public RowParallelLinear(ParameterScope here, long inputs, long outputs, Input input, Linear.Bias bias) {
        slice = Linear.inputsCut(here, inputs, outputs, bias);
        layout = here.layout();
        columns = new ChannelSplit(layout.tensor());
        this.input = input;
        brought = layout.tensor().group().index() == 0 ? bias : Linear.Bias.LEFT;
    }

    /** The bias; null if there is none. */
    public Parameter bias() {
        return slice.bias();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor part = cut(x, scratch, pass);
            slice.multiply(y, part, brought, pass);
            layout.tensor().allReduce(y, Reduction.SUM).await();
            slice.putOut(y, pass);
        }
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            backwardWeight(dy, cut(x, scratch, pass), pass);
            if (input == Input.CUT) {
                backwardInput(dx, dy, WriteMode.OVERWRITE, pass);
            } else {
                columns.gather(dx, part -> backwardInput(part, dy, WriteMode.OVERWRITE, pass), scratch, pass.ops());
            }
        }
    }

    /** This rank's slice of {@code dx}. */
    void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        slice.backwardInput(dx, dy, write, pass);
    }

    /** Adds to the gradients of this rank's slice of the weight and of the bias, from its slice of {@code x}. */
    void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        slice.backwardWeight(dy, x, pass);
    }

    private Tensor cut(Tensor x, DeviceArena.Scope scratch, Pass pass) {
        return input == Input.CUT ? x : columns.part(x, scratch, pass.ops());
    }
}
