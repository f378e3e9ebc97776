package org.isobar.train.engine;

import java.util.Optional;

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

    /** Both numbers, for the {@link TrialCache}. */
    String text() {
        return own + " " + library;
    }

    /** The times that {@link #text} wrote; empty for another text. */
    static Optional<AttentionTimes> parse(String text) {
        String[] numbers = text.split(" ", -1);
        try {
            return numbers.length == 2
                ? Optional.of(new AttentionTimes(Double.parseDouble(numbers[0]), Double.parseDouble(numbers[1])))
                : Optional.empty();
        } catch (NumberFormatException other) {
            return Optional.empty();
        }
    }
}
