package org.isobar.scores;

/**
 * A score over all initial times, with its 95 % confidence interval.
 *
 * @param value the score; NaN if it is undefined
 * @param low   lower bound of the interval; NaN if there are too few initial times for one
 * @param high  upper bound; NaN if {@code low} is
 */
public record Estimate(double value, double low, double high) { }
