package org.isobar.plan.machine;

/**
 * A number of a machine file and where it comes from.
 *
 * @param value  in the unit that the key names
 * @param source how it is known
 * @param date   when it was measured or published
 * @param run    the run or the publication
 */
public record Quantity(double value, Source source, String date, String run) {
    /** How a number is known, the surest first. */
    public enum Source {
        /** Measured on this kind of machine. */
        MEASURED,
        /** Published by the manufacturer or in a paper. */
        PUBLISHED,
        /** Estimated. */
        GUESSED;

        /** The relative error that a prediction from such numbers is given. */
        public double error() {
            return switch (this) {
                case MEASURED -> 0.10;
                case PUBLISHED -> 0.20;
                case GUESSED -> 0.30;
            };
        }
    }
}
