package org.isobar.train;

import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.ValidationScores;

/** Where a run is: all that its checkpoints say of it besides tensors. */
final class TrainingProgress {
    private final long begun;
    private final LossSum losses;
    private final SkippedSteps skipped;
    private int badSteps;
    private int epoch;
    private int step;
    private long iterations;
    private ValidationScores scores; // or null
    private TrainingState.Best best; // or null

    /**
     * The course of a run from its first step or, where it goes on from a checkpoint, from there.
     *
     * @throws UserException if the epoch under way then had more steps than one has now
     */
    TrainingProgress(long stepsPerEpoch, Optional<Resumption> resumption) {
        TrainingState state = resumption.map(Resumption::state).orElse(TrainingState.BEGINNING);
        if (state.step() > stepsPerEpoch) {
            throw new UserException("checkpoint " + resumption.orElseThrow().path() + " was made after " + state.step()
                + " steps of an epoch, and now an epoch has " + stepsPerEpoch
                + "; give the batch size and the data of then, or the checkpoint of an epoch's end");
        }
        begun = resumption.map(Resumption::iteration).orElse(0L);
        losses = new LossSum(state.lossSum(), state.losses());
        skipped = new SkippedSteps(state.progress());
        epoch = state.epoch();
        step = state.step();
        iterations = begun;
        badSteps = state.badSteps();
        scores = state.scores();
        best = state.best();
    }

    /** The epoch under way, from 0. */
    int epoch() {
        return epoch;
    }

    /** Steps of it that are done. */
    int step() {
        return step;
    }

    /** Steps of the run that are done. */
    long iterations() {
        return iterations;
    }

    /** Whether this process has done any step. */
    boolean hasMoved() {
        return iterations > begun;
    }

    /** The step of its epoch, from 0, of which step {@code number} of the run, from 1, is the one under way. */
    int stepOfEpoch(long number) {
        return step - Math.toIntExact(iterations - (number - 1));
    }

    /** The losses of the epoch so far. */
    LossSum losses() {
        return losses;
    }

    /** How many steps have moved nothing. */
    SkippedSteps skipped() {
        return skipped;
    }

    /** Steps in a row, up to now, whose loss was not finite. */
    int badSteps() {
        return badSteps;
    }

    /** The last step looked at was one more of them, or none. */
    void judged(boolean finite) {
        badSteps = finite ? 0 : badSteps + 1;
    }

    /** The last validation's, or null. */
    ValidationScores scores() {
        return scores;
    }

    /** A step is done. */
    void stepDone() {
        step++;
        iterations++;
    }

    /** Step {@code number} of the run, in this epoch, is not done, nor are those that follow. */
    void backBefore(long number) {
        step = stepOfEpoch(number);
        iterations = number - 1;
    }

    /** The epoch is done, with a validation. */
    void epochDone(ValidationScores validation) {
        scores = validation;
        if (best == null || validation.loss() < best.loss()) {
            best = new TrainingState.Best(iterations, validation.loss());
        }
        epoch++;
        step = 0;
        losses.clear();
    }

    /** What a checkpoint made here says, with what only others know. */
    TrainingState state(double[] control, TrainingState.Written written, String data) {
        return new TrainingState(epoch, step, losses.sum(), losses.count(), badSteps, control, skipped.last(), scores,
            best, written, data);
    }
}
