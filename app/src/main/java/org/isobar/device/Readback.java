package org.isobar.device;

/** Numbers on their way from a device to the host. */
public interface Readback {
    /**
     * The numbers as they were left by the operations that had been issued before {@link Device#read}; waits for those
     * alone. Called once.
     */
    double[] await();
}
