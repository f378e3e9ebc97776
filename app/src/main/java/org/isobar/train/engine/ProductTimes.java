package org.isobar.train.engine;

import java.util.Optional;

/**
 * The result of a trial of a matrix product.
 *
 * @param algorithm the fastest algorithm that is right, in the library's own form
 * @param seconds   that it takes
 * @param preferred seconds that the algorithm takes that the library's heuristic prefers
 */
record ProductTimes(String algorithm, double seconds, double preferred) {
    /** The algorithm and both numbers, for the {@link TrialCache}. */
    String text() {
        return algorithm + " " + seconds + " " + preferred;
    }

    /** The result that {@link #text} wrote; empty for another text. */
    static Optional<ProductTimes> parse(String text) {
        String[] parts = text.split(" ", -1);
        try {
            return parts.length == 3 ? Optional.of(new ProductTimes(parts[0], Double.parseDouble(parts[1]),
                Double.parseDouble(parts[2]))) : Optional.empty();
        } catch (NumberFormatException other) {
            return Optional.empty();
        }
    }
}
