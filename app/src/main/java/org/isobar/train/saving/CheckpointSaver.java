package org.isobar.train.saving;

import java.util.Optional;

import org.isobar.checkpoint.SaveResult;
import org.isobar.train.step.RunSignal;

/** Saves the checkpoints of one rank. */
public interface CheckpointSaver extends AutoCloseable {
    /** Saves nothing. A request to stop ends the process at once. */
    CheckpointSaver NONE = new CheckpointSaver() {
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
        public SaveResult saveForReplay(long iteration, TrainingState state) {
            return new SaveResult.Failed("nothing is saved for a replay, as there are no checkpoints");
        }

        @Override
        public void close() { }
    };

    /** The signal that this rank raises now: to stop if the process was asked to, to save if the interval is over. */
    RunSignal signal();

    /** Whether a checkpoint is due after that iteration on all ranks. */
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
     * Saves a checkpoint whose next step fails, in a directory apart from the others. Returns when this rank has
     * written its share.
     */
    SaveResult saveForReplay(long iteration, TrainingState state);

    /** Abandons a checkpoint that is still being written. */
    @Override
    void close();
}
