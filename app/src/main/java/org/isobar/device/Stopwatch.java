package org.isobar.device;

/**
 * Marks points in the course of a device's operations and tells the time between them. Marking neither waits nor
 * disturbs the operations; it belongs to the thread that issues them.
 */
public interface Stopwatch extends AutoCloseable {
    /** Marks the point where all operations issued so far have run. */
    void mark();

    /** Seconds from each mark to the next; waits until the last is reached, and forgets all of them. */
    double[] laps();

    /** Frees what the device keeps of it. */
    @Override
    void close();
}
