package org.isobar.train.saving;

import java.util.Optional;

import org.isobar.checkpoint.SaveResult;
import org.isobar.train.step.RunSignal;

/** The saving of checkpoints, as the training loop of a rank sees it. */
public interface CheckpointSaver extends AutoCloseable {
    /** None are saved, and nobody can ask for an end that would need one. */
    CheckpointSaver NONE = new CheckpointSaver() {
        @Override
        public RunSignal wish() {
            return RunSignal.NOTHING;
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

    /** What this rank wishes at this moment. */
    RunSignal wish();

    /** Whether a checkpoint is due after that iteration, whatever anybody wishes. */
    boolean isDueAfter(long iteration);

    /** Waits until the last checkpoint is written as far as this rank is concerned, and warns if that takes long. */
    void awaitTurn();

    /**
     * Saves a checkpoint; all ranks do so together, when all have awaited their turn. Returns when all is copied, so
     * that training can go on.
     *
     * @param state of account on rank 0 alone
     */
    void save(long iteration, TrainingState state);

    /** Waits likewise for the last of all; says why it is not written, if it is not. */
    Optional<String> await();

    /**
     * Saves likewise, apart from all others, a checkpoint whose next step goes wrong. Returns when this rank has
     * written its share.
     */
    SaveResult saveForReplay(long iteration, TrainingState state);

    /** Gives up what is not written. */
    @Override
    void close();
}
