package org.isobar.distributed;

import java.time.Duration;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Messages between rank 0 and all other ranks, beside the collectives: of any size, on any thread, and without waiting
 * for ranks that have nothing to do with them. Uses of the same topic match in order: the n-th {@link #report} of each
 * rank belongs to the n-th {@link #gather}, the n-th {@link #await} to the n-th {@link #announce}.
 */
public interface RankMessages extends AutoCloseable {
    /** Messages of a job of one rank. */
    RankMessages ALONE = new RankMessages() {
        @Override
        public int ranks() {
            return 1;
        }

        @Override
        public void report(String topic, byte[] message, Urgency urgency) { }

        @Override
        public SortedMap<Integer, byte[]> gather(String topic, Duration limit) {
            return new TreeMap<>();
        }

        @Override
        public void announce(String topic, byte[] message) { }

        @Override
        public Optional<byte[]> await(String topic, Duration limit) {
            throw new IllegalStateException("a job of one rank has no other that announces " + topic);
        }

        @Override
        public void close() { }
    };

    /** Whether rank 0 needs a report before those of the other ranks. */
    enum Urgency {
        /** It is passed on together with those of other ranks. */
        NORMAL,
        /** It is passed on immediately and ends {@link #gather}, because it reports a failure. */
        URGENT
    }

    /** Number of ranks of the job. */
    int ranks();

    /** Sends a message to rank 0, once on each other rank. Returns before it is sent. */
    void report(String topic, byte[] message, Urgency urgency);

    /**
     * Waits on rank 0 for the reports of all other ranks, for an urgent one, or for the end of the limit.
     *
     * @return the reports that have arrived, by rank
     * @throws CommunicationException if the job fails meanwhile
     * @throws InterruptedException   if the thread is interrupted
     */
    SortedMap<Integer, byte[]> gather(String topic, Duration limit) throws InterruptedException;

    /** Sends a message from rank 0 to all others. Returns before it is sent. */
    void announce(String topic, byte[] message);

    /**
     * Waits on another rank for the message that rank 0 announces.
     *
     * @return empty if it does not arrive within the limit
     * @throws CommunicationException if the job fails meanwhile
     * @throws InterruptedException   if the thread is interrupted
     */
    Optional<byte[]> await(String topic, Duration limit) throws InterruptedException;

    /** Sends the last messages, for at most a second, and ends all connections. */
    @Override
    void close();
}
