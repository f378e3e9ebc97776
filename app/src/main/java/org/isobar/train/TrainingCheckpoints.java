package org.isobar.train;

import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

import org.isobar.checkpoint.SaveResult;
import org.isobar.os.ShellWords;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Consensus;
import org.isobar.train.step.RunSignal;
import org.isobar.train.step.RunSignals;

/**
 * Decides when the training loop saves a checkpoint: at the end of each epoch, at the configured interval, and when the
 * run is stopped. All ranks must call each method together.
 */
final class TrainingCheckpoints {
    private final CheckpointSaver saver;
    private final RunSignals signals;
    private final Consensus consensus;
    private final TrainingProgress progress;
    private final Supplier<TrainingState> state;
    private final LongConsumer listener;
    private long saved; // number of iterations at the last checkpoint

    /**
     * Creates the policy for the checkpoints of a run.
     *
     * @param state    returns the current state of training; waits for all issued steps
     * @param listener receives the number of iterations of each checkpoint, when it is saved
     */
    TrainingCheckpoints(CheckpointSaver saver, RunSignals signals, Consensus consensus, TrainingProgress progress,
        Supplier<TrainingState> state, LongConsumer listener) {
        this.saver = saver;
        this.signals = signals;
        this.consensus = consensus;
        this.progress = progress;
        this.state = state;
        this.listener = listener;
        saved = progress.iterations();
    }

    /** Saves a first checkpoint, so that a run that cannot save warns early. Training does not wait for it. */
    void trainingBegins() {
        save();
    }

    /** Raises this rank's signal for the next step. */
    void stepBegins() {
        signals.raise(saver.signal());
    }

    /**
     * Saves a checkpoint if one is due or a rank has requested one since the last. Returns whether the run must stop.
     *
     * @param lastOfEpoch whether validation comes next; the epoch's checkpoint is saved after it
     * @param finishSteps waits for all issued steps
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

    /** Whether the ranks agreed to stop, as of the last step that was read. */
    boolean stopAgreed() {
        return signals.agreed() == RunSignal.STOP;
    }

    /** Whether any rank requests a stop; for use outside of steps. */
    boolean stopRequested() {
        return signals.agree(saver.signal()) == RunSignal.STOP;
    }

    /** Saves a checkpoint after an epoch's training and validation. */
    void epochEnds() {
        save();
    }

    /**
     * Waits until all ranks have written the last checkpoint, because a rank can still fail while others write. Returns
     * the reason if it was not saved.
     */
    Optional<String> trainingEnds() {
        return saved(state.get());
    }

    /**
     * Waits until the checkpoint of {@code current} is saved. If it is not, rank 0 makes room, and all ranks save it
     * once more. Returns the reason if it was not saved.
     */
    private Optional<String> saved(TrainingState current) {
        Optional<String> failure = saver.await();
        if (consensus.anyTrue(failure.isPresent())
            && consensus.anyTrue(saver.makeRoom(progress.iterations(), current))) {
            save(current);
            failure = saver.await();
        }
        boolean failed = consensus.anyTrue(failure.isPresent());
        return failed ? failure.or(() -> Optional.of("another rank could not save its share")) : Optional.empty();
    }

    /** Saves {@code stopped}, the state to resume from, and waits until all ranks have saved or one has failed. */
    TrainingOutcome stop(TrainingState stopped) {
        if (!progress.hasMoved()) {
            return new TrainingOutcome.Lost("no step was done since the start; allow the run more time");
        }
        save(stopped);
        return saved(stopped).<TrainingOutcome>map(TrainingOutcome.Unsaved::new)
            .orElseGet(() -> new TrainingOutcome.Interrupted(progress.iterations()));
    }

    /** Saves the state before the failed step {@code number}; returns a sentence with the command that replays it. */
    String saveForReplay(long number) {
        progress.rewindBefore(number);
        awaitTurn();
        SaveResult result = saver.saveForReplay(progress.iterations(), state.get());
        boolean failed = consensus.anyTrue(result instanceof SaveResult.Failed); // each rank ends only after this
        return switch (result) {
            case SaveResult.Done done when !failed -> "To see that step again: "
                + ShellWords.join(List.of("isobar", "replay", done.path().toString()));
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
        listener.accept(progress.iterations());
        saver.save(progress.iterations(), current);
    }

    /** Waits until all ranks have written the last checkpoint: a rank waits only a limited time for others' files. */
    private void awaitTurn() {
        saver.awaitTurn();
        consensus.barrier();
    }
}
