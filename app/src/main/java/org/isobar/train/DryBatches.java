package org.isobar.train;

import java.util.Optional;
import java.util.function.IntConsumer;

import org.isobar.data.Batch;
import org.isobar.data.NonFiniteValue;

/**
 * Batches without data, for a dry run: always the same one.
 *
 * @param batch the batch
 * @param steps steps of an epoch
 * @param microBatches batches of a step
 * @param taken receives the step of the epoch, from 0, whose first batch is taken
 */
record DryBatches(Batch batch, int steps, int microBatches, IntConsumer taken) implements Batch.Source {
    @Override
    public Batch.Epoch epoch(long number, int done) {
        return new Batch.Epoch() {
            private int next = done * microBatches;

            @Override
            public boolean hasNext() {
                return next < steps * microBatches;
            }

            @Override
            public Batch next() {
                if (next % microBatches == 0) {
                    taken.accept(next / microBatches);
                }
                next++;
                return batch;
            }

            @Override
            public void close() { }
        };
    }

    @Override
    public Optional<NonFiniteValue> firstNonFinite(long sample) {
        return Optional.empty();
    }
}
