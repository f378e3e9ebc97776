package org.isobar.config;

/**
 * The data set that is made on first use where a preset's data are missing: so many years, that is files, for each
 * purpose, each of {@code samplesPerYear} time steps six hours apart.
 */
public record SyntheticData(long seed, int trainYears, int validYears, int testYears, int samplesPerYear) { }
