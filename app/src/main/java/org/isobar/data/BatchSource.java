package org.isobar.data;

import java.util.Optional;

/** The batches of a data set, epoch by epoch. One thread consumes them, and one epoch is open at a time. */
public interface BatchSource {
    /** Number of steps of an epoch. */
    int steps();

    /** Starts the batches of an epoch after its first {@code done} steps. The caller closes it. */
    Epoch epoch(long number, int done);

    /** Starts the batches of an epoch. The caller closes it. */
    default Epoch epoch(long number) {
        return epoch(number, 0);
    }

    /** The first NaN or infinity in a sample of the data set; empty if all values are finite. */
    Optional<NonFiniteValue> firstNonFinite(long sample);

    /** Iterates over the batches of one epoch. */
    interface Epoch extends AutoCloseable {
        /** Whether there is another batch. */
        boolean hasNext();

        /** The next batch; the previous one must have been closed. */
        Batch next();

        /** Ends the epoch. */
        @Override
        void close();
    }
}
