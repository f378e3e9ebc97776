package org.isobar.verify.reference;

import org.isobar.tensor.DType;

/**
 * What an operation should yield, and how exactly. A result may carry three errors, each derived, none measured:
 * <ol>
 * <li><b>Of the sum.</b> A sum of rounded terms is off by about the unit roundoff u of the accumulator, times the root
 * of the number of terms (errors of either sign), times the sum of the terms' magnitudes; cancellation makes the result
 * small but not the error. So {@code (4 + 2 sqrt(terms)) u magnitude(i)}, with u = 2^-53 where the result is F64, else
 * 2^-24, whatever the type of the result: narrower types are accumulated in single precision.
 * <li><b>Of what goes in.</b> Where a device rounds the operands of products to less than their type, or an
 * intermediate matrix to the type of the operands, each term is off by that rounding: {@link #doubt} adds these up.
 * <li><b>Of the result's own rounding.</b> It happens once. A result of 16 bits is therefore right if it is what the
 * type makes of some number within the first two errors: the interval is rounded, not widened. An element that was
 * rounded once before, or once in between, leaves it.
 * </ol>
 */
public final class ExpectedTensor {
    private static final int EXACT = 0;

    private final double[] values;
    private final double[] magnitudes;
    private final double[] doubts;
    private final long terms;

    private ExpectedTensor(double[] values, long terms) {
        this.values = values;
        magnitudes = new double[values.length];
        doubts = new double[values.length];
        this.terms = terms;
    }

    /** Values that must be met to the bit, once they are rounded to the type of the result. */
    public static ExpectedTensor exactly(double[] values) {
        return new ExpectedTensor(values, EXACT);
    }

    /** {@code elements} sums, empty so far, of about {@code terms} terms, each rounded a few times. */
    public static ExpectedTensor sums(int elements, long terms) {
        assert terms != EXACT;
        return new ExpectedTensor(new double[elements], terms);
    }

    /** Adds a term to element {@code i}. */
    public void add(int i, double term) {
        add(i, term, Math.abs(term));
    }

    /** Adds to element {@code i} a term that is the outcome of a cancellation among larger magnitudes. */
    public void add(int i, double term, double magnitude) {
        assert !(magnitude < 0) : magnitude;
        values[i] += term;
        magnitudes[i] += magnitude;
    }

    /** Adds {@code terms[i]} to each element {@code i}. */
    public ExpectedTensor plus(double[] terms) {
        for (int i = 0; i < terms.length; i++) {
            add(i, terms[i]);
        }
        return this;
    }

    /** Allows element {@code i} another error, which what went into it may have. */
    void doubt(int i, double error) {
        doubts[i] += error;
    }

    /** All terms so far are products of operands that the device takes in with that relative error. */
    ExpectedTensor ofOperandsWithin(double roundoff) {
        for (int i = 0; i < doubts.length; i++) {
            doubt(i, roundoff * (2 + roundoff) * magnitudes[i]);
        }
        return this;
    }

    public int size() {
        return values.length;
    }

    double value(int i) {
        return values[i];
    }

    double magnitude(int i) {
        return magnitudes[i];
    }

    double doubted(int i) {
        return doubts[i];
    }

    /** The magnitudes: for plain numbers, their absolute values. */
    double[] magnitudes() {
        return magnitudes;
    }

    /** The values. */
    public double[] values() {
        return values;
    }

    /** Whether a tensor of that type may hold {@code found} as element {@code i}. */
    public boolean allows(int i, double found, DType dtype) {
        return isExact(i) ? Double.compare(found, NumberFormats.round(values[i], dtype)) == 0
            : found >= least(i, dtype) && found <= most(i, dtype);
    }

    /** By how many times the tolerance {@code found} is off, for finding the worst of many. */
    public double excess(int i, double found) {
        double error = Math.abs(found - values[i]);
        return Double.isNaN(error) ? Double.POSITIVE_INFINITY : error / tolerance(i, DType.F32);
    }

    /** What a message says of element {@code i}. */
    public String describe(int i, DType dtype) {
        return isExact(i) ? String.valueOf(NumberFormats.round(values[i], dtype))
            : values[i] + " +- " + tolerance(i, dtype)
                + (dtype.bytes() < Float.BYTES ? " (" + least(i, dtype) + " to " + most(i, dtype) + ")" : "");
    }

    private boolean isExact(int i) {
        return terms == EXACT || !Double.isFinite(values[i]);
    }

    private double tolerance(int i, DType dtype) {
        double unit = NumberFormats.roundoff(dtype == DType.F64 ? DType.F64 : DType.F32);
        return (4 + 2 * Math.sqrt(terms)) * unit * magnitudes[i] + doubts[i];
    }

    private double least(int i, DType dtype) {
        return narrowed(values[i] - tolerance(i, dtype), dtype);
    }

    private double most(int i, DType dtype) {
        return narrowed(values[i] + tolerance(i, dtype), dtype);
    }

    private static double narrowed(double bound, DType dtype) {
        return dtype.bytes() < Float.BYTES ? NumberFormats.round(bound, dtype) : bound;
    }
}
