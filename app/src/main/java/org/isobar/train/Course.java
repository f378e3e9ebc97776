package org.isobar.train;

import java.util.Optional;

/** Where a run is: all that its checkpoints say of it besides tensors. */
final class Course {
    private final long stepsPerEpoch;
    private final long begun;
    private final LossSum losses;
    private final SkippedSteps skipped;
    private int epoch;
    private int step;
    private long iterations;
    private Validator.Scores scores; // or null
    private TrainingState.Best best; // or null

    /** The course of a run from its first step or, where it goes on from a checkpoint, from there. */
    Course(long stepsPerEpoch, Optional<Resumption> resumption) {
        this.stepsPerEpoch = stepsPerEpoch;
        TrainingState state = resumption.map(Resumption::state).orElse(TrainingState.BEGINNING);
        begun = resumption.map(Resumption::iteration).orElse(0L);
        losses = new LossSum(state.lossSum(), state.losses());
        skipped = new SkippedSteps(state.progress());
        epoch = state.epoch();
        step = state.step();
        iterations = begun;
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
        return (int) (number - 1 - epoch * stepsPerEpoch);
    }

    /** The losses of the epoch so far. */
    LossSum losses() {
        return losses;
    }

    /** How many steps have moved nothing. */
    SkippedSteps skipped() {
        return skipped;
    }

    /** The last validation's, or null. */
    Validator.Scores scores() {
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
    void epochDone(Validator.Scores validation) {
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
        return new TrainingState(epoch, step, losses.sum(), losses.count(), control, skipped.last(), scores, best,
            written, data);
    }
}
