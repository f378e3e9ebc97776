package org.isobar.verify.reference;

import org.isobar.tensor.DType;

/**
 * The expected result of an operation with its tolerance. A result may have four errors, all derived, none measured:
 * <ol>
 * <li><b>Summation.</b> A sum of rounded terms is off by about the unit roundoff u of the accumulator, times the root
 * of the number of terms (errors of either sign), times the sum of the terms' magnitudes; cancellation makes the result
 * small but not the error. The bound is {@code (4 + 2 sqrt(terms)) u magnitude(i)}, with u = 2^-53 if the result is
 * F64, else 2^-24, whatever the type of the result: narrower types are accumulated in single precision.
 * <li><b>Operand rounding.</b> If a device rounds the operands of products to less than their type, or an
 * intermediate matrix to the type of the operands, each term has that rounding error: {@link #doubt} adds these up.
 * <li><b>Rounding of a product.</b> If a device rounds products to a 16-bit result before it adds to them, they have
 * that error: {@link #roundedTo}.
 * <li><b>Rounding of the result.</b> It happens once. A 16-bit result is therefore correct if it is the rounded value
 * of some number within the other errors: the interval is rounded, not widened. A result that was rounded
 * additionally before or in between falls outside it.
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

    /** Values that must match bit for bit after rounding to the type of the result. */
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

    /** These elements times a factor each, of which every factor is for an equal share of neighbours. */
    public ExpectedTensor scaled(double[] factors) {
        ExpectedTensor products = new ExpectedTensor(new double[values.length], terms);
        int each = values.length / factors.length;
        for (int i = 0; i < values.length; i++) {
            double factor = factors[i / each];
            products.add(i, factor * values[i], Math.abs(factor) * magnitudes[i]);
            products.doubt(i, Math.abs(factor) * doubts[i]);
        }
        return products;
    }

    /** Allows element {@code i} an additional error, from errors of its operands. */
    void doubt(int i, double error) {
        doubts[i] += error;
    }

    /** Allows all terms so far the error of products of operands that the device rounds with that relative error. */
    ExpectedTensor ofOperandsWithin(double roundoff) {
        for (int i = 0; i < doubts.length; i++) {
            doubt(i, roundoff * (2 + roundoff) * magnitudes[i]);
        }
        return this;
    }

    /** Allows the sums so far to have been rounded to that type, if it has 16 bits. */
    public ExpectedTensor roundedTo(DType dtype) {
        for (int i = 0; dtype.bytes() < Float.BYTES && i < doubts.length; i++) {
            double largest = Math.abs(values[i]) + tolerance(i, dtype);
            doubt(i, NumberFormats.roundoff(dtype) * largest + NumberFormats.underflow(dtype));
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

    /** The error of {@code found} in multiples of the tolerance, to find the worst of many. */
    public double excess(int i, double found) {
        double error = Math.abs(found - values[i]);
        return Double.isNaN(error) ? Double.POSITIVE_INFINITY : error / tolerance(i, DType.F32);
    }

    /** Describes element {@code i} for a message. */
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
