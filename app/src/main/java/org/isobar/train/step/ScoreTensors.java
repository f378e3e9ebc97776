package org.isobar.train.step;

import org.isobar.device.DeviceArena;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The results of steps and evaluations, F64, in one contiguous tensor, so that several are reduced or read in one call.
 *
 * @param all (Cout + 1 + 2 M): RMSE of each channel, loss, two terms of the loss of each of the step's M samples
 */
record ScoreTensors(Tensor all, int channels) {
    static ScoreTensors in(DeviceArena arena, int channels, int samples) {
        return new ScoreTensors(arena.allocate(DType.F64, channels + 1 + 2L * samples), channels);
    }

    Tensor rmse() { // (Cout)
        return all.slice(0, channels);
    }

    Tensor loss() { // (1)
        return all.slice(channels, 1);
    }

    Tensor terms() { // (M, 2)
        long count = all.elements() - channels - 1;
        return all.slice(channels + 1, count).reshape(count / 2, 2);
    }

    /** The scores of a batch of {@code samples}, which are a step's first ones. */
    Tensor of(long samples) {
        return all.slice(0, channels + 1 + 2 * samples);
    }

    /** The part that is averaged over data-parallel ranks. */
    Tensor rmseAndLoss() {
        return all.slice(0, channels + 1);
    }

    Tensor lossAndTerms() {
        return all.slice(channels, all.elements() - channels);
    }
}
