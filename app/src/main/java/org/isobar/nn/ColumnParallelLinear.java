package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * A linear layer whose outputs are cut over tp (Shoeybi et al., 2019): rank i holds the i-th slice of rows of W and b
 * and computes the i-th slice of outputs from the whole input. x is (.., K), W (N, K) in all and (N/tp, K) on a rank.
 *
 * <p>Forward needs no communication where the output stays cut. Backward: every rank has part of what the input
 * contributed to, so {@code dx} is summed over tp, while the gradients of W and b are computed.
 */
public final class ColumnParallelLinear implements Layer {
    private final Linear slice;
    private final ChannelSplit columns;
    private final Output output;
    private final Layout layout;

    /** What becomes of the slices of outputs. */
    public enum Output {
        /** Each rank keeps its own: y is (.., N/tp). */
        CUT,
        /** Every rank gets all: y is (.., N). */
        GATHERED
    }

    /**
     * Declares a slice of {@code weight} and {@code bias} at {@code here}, or of those of several layers of the same
     * input, called {@code names}, whose outputs then follow one another on each rank.
     *
     * @throws org.isobar.fault.UserException if the ranks cannot share {@code outputsEach} evenly
     */
    public ColumnParallelLinear(ParameterScope here, long inputs, long outputsEach, Output output, Linear.Bias bias,
        String... names) {
        slice = Linear.outputsCut(here, inputs, outputsEach, bias, names.length == 0 ? new String[] {""} : names);
        layout = here.layout();
        columns = new ChannelSplit(layout.tensor());
        this.output = output;
    }

    /** This rank's slice of the bias; null if there is none. */
    public Parameter bias() {
        return slice.bias();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            if (output == Output.CUT) {
                slice.forward(y, x, pass);
            } else {
                columns.gather(y, part -> slice.forward(part, x, pass), scratch, pass.ops());
            }
        }
    }

    /** {@code preActivation = x W^T + b}, {@code y = GELU(preActivation)}, both cut. */
    void forwardGelu(Tensor y, Tensor preActivation, Tensor x, Pass pass) {
        slice.forwardGelu(y, preActivation, x, pass);
    }

    /** The {@code preActivation} of {@link #forwardGelu} once more, unseen. */
    void forwardAgain(Tensor preActivation, Tensor x, Pass pass) {
        slice.multiply(preActivation, x, Linear.Bias.ADDED, pass);
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor part = output == Output.CUT ? dy : columns.part(dy, scratch, pass.ops());
            backward(dx, part, () -> slice.backwardWeight(part, x, pass), pass);
        }
    }

    /** Backward of {@link #forwardGelu}, its first part: see {@link Linear#backwardGelu}. */
    void backwardGelu(Tensor dPreActivation, Tensor y, Tensor dy, Tensor preActivation, Pass pass) {
        slice.backwardGelu(dPreActivation, y, dy, preActivation, pass);
    }

    /**
     * Backward of {@link #forwardGelu}, its second part: the gradients of input and weight, this one after
     * {@code meanwhile}, which is run while {@code dx} is summed.
     */
    void backwardBeforeGelu(Tensor dx, Tensor dPreActivation, Tensor x, Runnable meanwhile, Pass pass) {
        backward(dx, dPreActivation, () -> {
            meanwhile.run();
            slice.backwardWeightAlone(dPreActivation, x, pass);
        }, pass);
    }

    /** {@code dx} is summed while {@code weightGradients} are computed. */
    private void backward(Tensor dx, Tensor dyPart, Runnable weightGradients, Pass pass) {
        backwardInput(dx, dyPart, WriteMode.OVERWRITE, pass);
        Work sum = layout.tensor().allReduce(dx, Reduction.SUM);
        weightGradients.run();
        sum.await();
    }

    /** This rank's contribution to {@code dx} from its slice of {@code dy}; still to be summed over tp. */
    void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        slice.backwardInput(dx, dy, write, pass);
    }

    /** Adds to the gradients of this rank's slices. */
    void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        slice.backwardWeight(dy, x, pass);
    }
}
