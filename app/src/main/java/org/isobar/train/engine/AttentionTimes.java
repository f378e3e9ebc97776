package org.isobar.train.engine;

/**
 * Seconds that attention takes in a step's shapes, forward and backward once each.
 *
 * @param own     with the device's own kernels
 * @param library with the library
 */
record AttentionTimes(double own, double library) {
    static final AttentionTimes NONE = new AttentionTimes(0, 0);

    AttentionTimes plus(AttentionTimes other) {
        return new AttentionTimes(own + other.own, library + other.library);
    }

    /** Whether the library is faster. */
    boolean favorLibrary() {
        return library < own;
    }
}
