package org.isobar.train.saving;

import java.util.Optional;

import org.isobar.checkpoint.SaveResult;
import org.isobar.train.step.RunSignal;

/** Saves the checkpoints of one rank. */
public interface CheckpointSaver extends AutoCloseable {
    /** Saves nothing, and leaves {@link StopRequest} unarmed: a signal ends the process immediately. */
    CheckpointSaver NONE = new Nothing();

    /** Saves nothing. */
    class Nothing implements CheckpointSaver {
        @Override
        public RunSignal signal() {
            return RunSignal.NONE;
        }

        @Override
        public boolean isDueAfter(long iteration) {
            return false;
        }

        @Override
        public void awaitTurn() { }

        @Override
        public void save(long iteration, TrainingState state) { }

        @Override
        public Optional<String> await() {
            return Optional.empty();
        }

        @Override
        public boolean makeRoom(long iteration, TrainingState state) {
            return false;
        }

        @Override
        public SaveResult saveForReplay(long iteration, TrainingState state) {
            return new SaveResult.Failed("no checkpoint for a replay, because the run saves no checkpoints");
        }

        @Override
        public void close() { }
    }

    /** This rank's signal: STOP if the process was asked to stop, SAVE if the checkpoint interval has elapsed. */
    RunSignal signal();

    /** Whether all ranks save a checkpoint after {@code iteration} because of its number. */
    boolean isDueAfter(long iteration);

    /** Waits until this rank has written its share of the last checkpoint, and warns if that takes long. */
    void awaitTurn();

    /**
     * Saves a checkpoint. All ranks call this together, after {@link #awaitTurn} has returned on all of them. Returns
     * when the tensors are copied to host memory, so that training can continue.
     *
     * @param state used by rank 0 only
     */
    void save(long iteration, TrainingState state);

    /** Waits until this rank has written its share of the last checkpoint; returns the reason if that failed. */
    Optional<String> await();

    /**
     * Makes room for a checkpoint that could not be saved: deletes the old ones that would be deleted if it were saved.
     * Returns whether any were deleted; false on ranks other than 0.
     */
    boolean makeRoom(long iteration, TrainingState state);

    /**
     * Saves the state before a step that failed, in a separate directory, so that the step can be replayed. Returns
     * when this rank has written its share.
     */
    SaveResult saveForReplay(long iteration, TrainingState state);

    /** Cancels a write that is still in progress. */
    @Override
    void close();
}
