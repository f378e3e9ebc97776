package org.isobar.train.step;

import org.isobar.device.DeviceArena;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * What steps and evaluations are judged by, F64, side by side: what belongs together is reduced and read as one.
 *
 * @param all (Cout + 2 + 2 B): the RMSE of each channel, the loss, the wish, two norms of each sample
 */
record ScoreTensors(Tensor all, int channels) {
    static ScoreTensors in(DeviceArena arena, int channels, int batch) {
        return new ScoreTensors(arena.allocate(DType.F64, channels + 2 + 2L * batch), channels);
    }

    Tensor rmse() {
        return all.slice(0, channels);
    }

    Tensor loss() {
        return all.slice(channels, 1);
    }

    Tensor wish() {
        return all.slice(channels + 1, 1);
    }

    Tensor norms() { // (B, 2)
        long count = all.elements() - channels - 2;
        return all.slice(channels + 2, count).reshape(count / 2, 2);
    }

    /** What has a mean over the replicas. */
    Tensor rmseAndLoss() {
        return all.slice(0, channels + 1);
    }

    Tensor lossWishAndNorms() {
        return all.slice(channels, all.elements() - channels);
    }
}
