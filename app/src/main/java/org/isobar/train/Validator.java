package org.isobar.train;

import java.util.Optional;
import java.util.function.BooleanSupplier;

import org.isobar.data.Batch;
import org.isobar.tensor.Tensor;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.step.Evaluation;
import org.isobar.train.step.Replica;
import org.isobar.train.step.ValidationScores;

/** Scores a model on the validation data: all full batches, in order, without dropout. */
public final class Validator {
    private final Replica replica;
    private final Batch.Source loader;
    private final BooleanSupplier stop;

    /** The forecast that is scored for comparison. */
    enum Baseline {
        /** No comparison. */
        NONE,
        /** The persistence forecast. */
        PERSISTENCE
    }

    /**
     * Creates a validator for the batches of {@code loader}.
     *
     * @param stop called before each batch; returns whether to stop, with the same result on all ranks
     */
    Validator(Replica replica, Batch.Source loader, BooleanSupplier stop) {
        this.replica = replica;
        this.loader = loader;
        this.stop = stop;
    }

    /**
     * Scores all validation batches after {@code step} steps of training. {@code firstBatch} receives the first batch
     * with its prediction. Returns empty if validation was stopped.
     *
     * @throws org.isobar.fault.UserException if a loss is not finite
     */
    Optional<ValidationScores> run(Baseline baseline, long step, BatchViewer firstBatch) {
        double loss = 0;
        double[] rmse = null;
        double[] persistence = null;
        int batches = 0;
        try (Batch.Epoch epoch = loader.epoch(0)) {
            while (epoch.hasNext()) {
                try (Batch batch = epoch.next()) {
                    if (stop.getAsBoolean()) {
                        return Optional.empty();
                    }
                    Tensor input = batch.input();
                    Tensor target = batch.target();
                    Evaluation evaluation = replica.evaluator().evaluate(input, target);
                    FiniteLossCheck.require(evaluation.batch(), "in validation at step " + step, batch.samples(),
                        new FiniteLossCheck.Origin(replica, loader));
                    if (batches == 0) {
                        firstBatch.view(target, replica.model().prediction());
                    }
                    loss += evaluation.loss();
                    rmse = add(rmse, evaluation.rmse());
                    if (baseline == Baseline.PERSISTENCE) {
                        persistence = add(persistence, replica.evaluator().scorePersistence(input, target));
                    }
                    batches++;
                }
            }
        }
        return Optional.of(new ValidationScores(loss / batches, divide(rmse, batches), divide(persistence, batches)));
    }

    /** Receives a target and its prediction, both (B, C, H, W), which are valid during the call. */
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
