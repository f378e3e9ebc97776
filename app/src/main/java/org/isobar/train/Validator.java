package org.isobar.train;

import java.util.Optional;
import java.util.function.Supplier;

import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.tensor.Tensor;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.step.Replica;
import org.isobar.train.step.RunSignal;
import org.isobar.train.step.ValidationScores;

/** Scores a replica on the validation years: every whole batch, in order, without dropout. */
public final class Validator {
    private final Replica replica;
    private final DataLoader loader;
    private final Supplier<RunSignal> wish;

    /** What is scored besides the model. */
    enum Baseline {
        /** Nothing. */
        NONE,
        /** The forecast that the weather stays as it is. */
        PERSISTENCE
    }

    /** Scores by the batches of {@code loader}; {@code wish} is asked for this rank's before each of them. */
    Validator(Replica replica, DataLoader loader, Supplier<RunSignal> wish) {
        this.replica = replica;
        this.loader = loader;
        this.wish = wish;
    }

    /**
     * Scores all validation batches after {@code step} steps of training. {@code firstBatch} sees the first one while
     * the replica still holds its prediction. Returns nothing if a rank wishes to stop: then all do.
     *
     * @throws org.isobar.fault.UserException if a loss is not finite
     */
    Optional<ValidationScores> run(Baseline baseline, long step, BatchViewer firstBatch) {
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
                    FiniteLossCheck.require(evaluation.batch(), "in validation at step " + step, batch.samples(),
                        new FiniteLossCheck.Origin(replica, loader.dataset()));
                    if (evaluation.batch().wish() == RunSignal.STOP) {
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
        return Optional.of(new ValidationScores(loss / batches, divide(rmse, batches), divide(persistence, batches)));
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
