package org.isobar.train;

import java.util.Optional;
import java.util.function.Supplier;

import org.isobar.checkpoint.SaveResult;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Consensus;
import org.isobar.train.step.RunSignal;
import org.isobar.train.step.RunSignals;

/**
 * Decides when the training loop saves a checkpoint: at the end of each epoch, at the configured interval, and when the
 * run is stopped. All ranks call each method together.
 */
final class TrainingCheckpoints {
    private final CheckpointSaver saver;
    private final RunSignals signals;
    private final Consensus consensus;
    private final TrainingProgress progress;
    private final Supplier<TrainingState> state;
    private long saved; // iterations when a checkpoint was last begun

    /**
     * The checkpoints of a run.
     *
     * @param state where training is now; waits for the steps issued so far
     */
    TrainingCheckpoints(CheckpointSaver saver, RunSignals signals, Consensus consensus, TrainingProgress progress,
        Supplier<TrainingState> state) {
        this.saver = saver;
        this.signals = signals;
        this.consensus = consensus;
        this.progress = progress;
        this.state = state;
        saved = progress.iterations();
    }

    /** Saves a first checkpoint and waits for it, so that a run that cannot save fails at its start. */
    void trainingBegins() {
        save();
        awaitAll();
    }

    /** Raises the signal of this rank for the step to come. */
    void stepBegins() {
        signals.raise(saver.signal());
    }

    /**
     * Saves if a checkpoint is due or a rank has asked for one since the last. Returns whether the run is to stop.
     *
     * @param lastOfEpoch  whether validation comes next; the epoch's checkpoint follows it
     * @param finishSteps  waits for the steps issued so far
     */
    boolean stepIssued(boolean lastOfEpoch, Runnable finishSteps) {
        boolean save = saver.isDueAfter(progress.iterations())
            || signals.agreed() == RunSignal.SAVE && signals.agreedStep() > saved;
        if (save || stopAgreed()) {
            finishSteps.run();
        }
        boolean stop = stopAgreed();
        if (save && !stop && !lastOfEpoch) {
            save();
        }
        return stop;
    }

    /** Whether the last step that was read has agreed to stop. */
    boolean stopAgreed() {
        return signals.agreed() == RunSignal.STOP;
    }

    /** Whether a rank asks the run to stop, outside of steps. */
    boolean stopRequested() {
        return signals.agree(saver.signal()) == RunSignal.STOP;
    }

    /** Saves the checkpoint of an epoch that is trained and validated. */
    void epochEnds() {
        save();
    }

    /** Waits for the last checkpoint on all ranks: a rank could still be lost while others write. */
    void trainingEnds() {
        awaitAll();
    }

    /** Saves {@code stopped}, the state to resume from, and waits until all ranks have, or know that one cannot. */
    TrainingOutcome stop(TrainingState stopped) {
        if (!progress.hasMoved()) {
            return new TrainingOutcome.Lost("no step was done since the start; give it more time");
        }
        save(stopped);
        Optional<String> failure = saver.await();
        if (consensus.anyTrue(failure.isPresent())) {
            return new TrainingOutcome.Lost("the steps since the last checkpoint are lost: "
                + failure.orElse("another rank could not save its share"));
        }
        return new TrainingOutcome.Interrupted(progress.iterations());
    }

    /** Saves the state before step {@code number} went wrong; returns the command that runs that step again. */
    String saveForReplay(long number) {
        progress.backBefore(number);
        awaitTurn();
        SaveResult result = saver.saveForReplay(progress.iterations(), state.get());
        boolean failed = consensus.anyTrue(result instanceof SaveResult.Failed); // no rank ends before all know
        return switch (result) {
            case SaveResult.Done done when !failed -> "To see that step again: isobar replay " + done.path();
            case SaveResult.Done _ -> "It cannot be replayed: another rank could not save its share";
            case SaveResult.Failed reason -> "It cannot be replayed: " + reason.reason();
        };
    }

    private void save() {
        save(state.get());
        saved = progress.iterations();
    }

    private void save(TrainingState current) {
        awaitTurn();
        saver.save(progress.iterations(), current);
    }

    /** No rank begins a checkpoint before all have written the last: they wait for each other's files with a limit. */
    private void awaitTurn() {
        saver.awaitTurn();
        consensus.barrier();
    }

    private void awaitAll() {
        saver.await();
        consensus.barrier();
    }
}
