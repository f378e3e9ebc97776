package org.isobar.verify;

/**
 * What an operation should yield, and how exactly. A result that sums rounded terms is off by about the unit roundoff
 * u of its type, times the root of the number of terms (errors of either sign), times the sum of the terms' magnitudes;
 * cancellation makes the result small but not the error. So element i may be off by
 * {@code (4 + 2 sqrt(terms)) u magnitude(i)}, with u = 2^-24 for F32 and 2^-53 for F64.
 */
final class Expected {
    private final double[] values;
    private final double[] magnitudes;
    private final long terms;

    private Expected(double[] values, double[] magnitudes, long terms) {
        this.values = values;
        this.magnitudes = magnitudes;
        this.terms = terms;
    }

    /** Values that must be met to the bit. */
    static Expected exactly(double[] values) {
        return new Expected(values, new double[values.length], 0);
    }

    /** {@code elements} sums, empty so far, of about {@code terms} terms, each rounded a few times. */
    static Expected sums(int elements, long terms) {
        return new Expected(new double[elements], new double[elements], terms);
    }

    /** Adds a term to element {@code i}. */
    void add(int i, double term) {
        add(i, term, Math.abs(term));
    }

    /** Adds to element {@code i} a term that is the outcome of a cancellation among larger magnitudes. */
    void add(int i, double term, double magnitude) {
        assert magnitude >= 0 : magnitude;
        values[i] += term;
        magnitudes[i] += magnitude;
    }

    /** Adds {@code terms[i]} to each element {@code i}. */
    Expected plus(double[] terms) {
        for (int i = 0; i < terms.length; i++) {
            add(i, terms[i]);
        }
        return this;
    }

    int size() {
        return values.length;
    }

    double value(int i) {
        return values[i];
    }

    double magnitude(int i) {
        return magnitudes[i];
    }

    /** How far a result may be from element {@code i}, given the unit roundoff of its type. */
    double tolerance(int i, double unit) {
        return (4 + 2 * Math.sqrt(terms)) * unit * magnitudes[i];
    }

    /** The values. */
    double[] values() {
        return values;
    }
}
