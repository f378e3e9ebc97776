package org.isobar.train;

import java.util.Optional;

import org.isobar.checkpoint.SaveResult;

/** The saving of checkpoints, as the training loop of a rank sees it. */
interface Saves extends AutoCloseable {
    /** None are saved, and nobody can ask for an end that would need one. */
    Saves NONE = new Saves() {
        @Override
        public Wish wish() {
            return Wish.NOTHING;
        }

        @Override
        public boolean isDueAfter(long iteration) {
            return false;
        }

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
    Wish wish();

    /** Whether a checkpoint is due after that iteration, whatever anybody wishes. */
    boolean isDueAfter(long iteration);

    /**
     * Saves a checkpoint; all ranks do so together. Returns when all is copied: training can go on. Where the one
     * before is still being written, it waits for that first.
     *
     * @param state of account on rank 0 alone
     */
    void save(long iteration, TrainingState state);

    /** Waits until the last checkpoint is written as far as this rank is concerned; says why not, if it is not. */
    Optional<String> await();

    /**
     * Saves, apart from all others, a checkpoint whose next step goes wrong; all ranks do so together. Returns when
     * this rank has written its share.
     */
    SaveResult saveForReplay(long iteration, TrainingState state);

    /** Gives up what is not written. */
    @Override
    void close();
}
