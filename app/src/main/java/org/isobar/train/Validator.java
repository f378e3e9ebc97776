package org.isobar.train;

import java.util.Optional;
import java.util.function.Supplier;

import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.fault.UserException;
import org.isobar.tensor.Tensor;

/** Scores a replica on the validation years: every whole batch, in order, without dropout. */
final class Validator {
    private final Replica replica;
    private final DataLoader loader;
    private final Supplier<Wish> wish;

    /**
     * Means over all validation batches.
     *
     * @param loss        relative L2 loss
     * @param rmse        latitude-weighted RMSE of each channel, normalized
     * @param persistence the same score of the forecast that nothing changes, or null where it was not asked for
     */
    record Scores(double loss, double[] rmse, double[] persistence) { }

    /** What is scored besides the model. */
    enum Baseline {
        /** Nothing. */
        NONE,
        /** The forecast that the weather stays as it is. */
        PERSISTENCE
    }

    /** Scores by the batches of {@code loader}; {@code wish} is asked for this rank's before each of them. */
    Validator(Replica replica, DataLoader loader, Supplier<Wish> wish) {
        this.replica = replica;
        this.loader = loader;
        this.wish = wish;
    }

    /**
     * Scores all validation batches after {@code step} steps of training. {@code firstBatch} sees the first one while
     * the replica still holds its prediction. Returns nothing if a rank wishes to stop: then all do.
     *
     * @throws UserException if a loss is not finite
     */
    Optional<Scores> run(Baseline baseline, long step, BatchViewer firstBatch) {
        double loss = 0;
        double[] rmse = null;
        double[] persistence = null;
        int batches = 0;
        try (DataLoader.Epoch epoch = loader.epoch(0)) {
            while (epoch.hasNext()) {
                try (Batch batch = epoch.next()) {
                    Tensor input = batch.input();
                    Tensor target = batch.target();
                    Replica.Evaluation evaluation = replica.evaluate(input, target, wish.get());
                    FiniteLoss.require(evaluation.batch(), "in validation at step " + step, batch.samples(),
                        new FiniteLoss.Origin(replica, loader.dataset()));
                    if (evaluation.batch().wish() == Wish.STOP) {
                        return Optional.empty();
                    }
                    if (batches == 0) {
                        firstBatch.view(target, replica.prediction());
                    }
                    loss += evaluation.loss();
                    rmse = add(rmse, evaluation.rmse());
                    if (baseline == Baseline.PERSISTENCE) {
                        persistence = add(persistence, replica.scorePersistence(input, target));
                    }
                    batches++;
                }
            }
        }
        return Optional.of(new Scores(loss / batches, divide(rmse, batches), divide(persistence, batches)));
    }

    /** Looks at a target and its prediction, both (B, C, H, W). */
    interface BatchViewer {
        void view(Tensor target, Tensor prediction);
    }

    private static double[] add(double[] sum, double[] values) {
        if (sum == null) {
            return values;
        }
        for (int i = 0; i < values.length; i++) {
            sum[i] += values[i];
        }
        return sum;
    }

    private static double[] divide(double[] sum, int count) {
        if (sum != null) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] /= count;
            }
        }
        return sum;
    }
}
