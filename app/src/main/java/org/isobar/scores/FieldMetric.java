package org.isobar.scores;

import java.util.Locale;

/** A score of one field of a forecast, for one initial time, lead and variable. */
public enum FieldMetric {
    /** Area-weighted mean of the squared error, in squared units of the variable. */
    MSE,
    /** Area-weighted mean of the absolute error, in units of the variable. */
    MAE,
    /** Area-weighted mean of forecast minus truth, in units of the variable. */
    BIAS,
    /**
     * Anomaly correlation {@code sum(w a o) / sqrt(sum(w a^2) sum(w o^2))} of the anomalies a of the forecast and o of
     * the truth, which are not centred again. NaN if an anomaly is zero everywhere, or there is no climatology.
     */
    ACC,
    /** Area-weighted standard deviation of the forecast's anomaly, in its units; NaN if there is no climatology. */
    ACTIVITY;

    /** The name in files: lower case. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
