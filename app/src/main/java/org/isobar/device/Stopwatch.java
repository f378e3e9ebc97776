package org.isobar.device;

/**
 * Measures the time between marked points in the sequence of a device's operations. Marking neither waits for nor
 * disturbs the operations. Only the thread that issues the operations may use it.
 */
public interface Stopwatch extends AutoCloseable {
    /** Marks the point where all operations issued so far have run. */
    void mark();

    /** Waits until the last mark is reached, returns the seconds from each mark to the next and clears all marks. */
    double[] laps();

    /** Frees the device resources of this stopwatch. */
    @Override
    void close();
}
