package org.isobar.device;

/** An asynchronous copy of numbers from a device to the host. */
public interface Readback {
    /**
     * Waits for the operations issued before {@link Device#read}, but not for later ones, and returns the numbers they
     * produced. May be called once.
     */
    double[] await();
}
