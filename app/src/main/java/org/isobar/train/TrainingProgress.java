package org.isobar.train;

import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.ValidationScores;

/** The progress of a run: the part of its checkpoints that is not tensors. */
final class TrainingProgress {
    private final long startIteration;
    private final LossSum losses;
    private final SkippedSteps skipped;
    private int badSteps;
    private int epoch;
    private int step;
    private long iterations;
    private ValidationScores scores; // or null
    private TrainingState.Best best; // or null

    /**
     * Starts at the first step of a run or, if it resumes, at the checkpoint.
     *
     * @throws UserException if the checkpoint was made after more steps of an epoch than an epoch now has
     */
    TrainingProgress(long stepsPerEpoch, Optional<Resumption> resumption) {
        TrainingState state = resumption.map(Resumption::state).orElse(TrainingState.BEGINNING);
        if (state.step() > stepsPerEpoch) {
            throw new UserException("checkpoint " + resumption.orElseThrow().path() + " was made after " + state.step()
                + " steps of an epoch, and now an epoch has " + stepsPerEpoch
                + "; give the batch size and the data of that run, or a checkpoint from the end of an epoch");
        }
        startIteration = resumption.map(Resumption::iteration).orElse(0L);
        losses = new LossSum(state.lossSum(), state.losses());
        skipped = new SkippedSteps(state.progress());
        epoch = state.epoch();
        step = state.step();
        iterations = startIteration;
        badSteps = state.badSteps();
        scores = state.scores();
        best = state.best();
    }

    /** Index of the current epoch, from 0. */
    int epoch() {
        return epoch;
    }

    /** Number of finished steps of the current epoch. */
    int step() {
        return step;
    }

    /** Number of finished steps of the run. */
    long iterations() {
        return iterations;
    }

    /** Whether this process has finished any step. */
    boolean hasMoved() {
        return iterations > startIteration;
    }

    /** Index in the current epoch, from 0, of step {@code number} of the run, from 1. */
    int stepOfEpoch(long number) {
        return step - Math.toIntExact(iterations - (number - 1));
    }

    /** The losses of the current epoch so far. */
    LossSum losses() {
        return losses;
    }

    /** The skipped steps. */
    SkippedSteps skipped() {
        return skipped;
    }

    /** Number of consecutive steps, up to the last loss read, whose loss was not finite. */
    int badSteps() {
        return badSteps;
    }

    /** Counts the step whose loss was read. */
    void lossRead(boolean finite) {
        badSteps = finite ? 0 : badSteps + 1;
    }

    /** The scores of the last validation, or null. */
    ValidationScores scores() {
        return scores;
    }

    /** Counts a step. */
    void stepDone() {
        step++;
        iterations++;
    }

    /** Goes back to before step {@code number} of the run, in this epoch, whose bad loss is the last one read. */
    void rewindBefore(long number) {
        badSteps--;
        step = stepOfEpoch(number);
        iterations = number - 1;
    }

    /** Ends the epoch with the scores of its validation. */
    void epochDone(ValidationScores validation) {
        scores = validation;
        if (best == null || validation.loss() < best.loss()) {
            best = new TrainingState.Best(iterations, validation.loss());
        }
        epoch++;
        step = 0;
        losses.clear();
    }

    /** The state for a checkpoint made now, with the values that this class does not hold. */
    TrainingState state(double[] control, TrainingState.Written written, String data, String attention,
        String products) {
        return new TrainingState(epoch, step, losses.sum(), losses.count(), badSteps, control, skipped.last(), scores,
            best, written, data, attention, products);
    }
}
