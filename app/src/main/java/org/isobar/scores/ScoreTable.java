package org.isobar.scores;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The scores of all fields: one number for each forecast, lead, variable, metric and initial time. Memory grows with
 * the number of initial times by these numbers alone. Different fields may be entered by different threads.
 */
public final class ScoreTable {
    private static final int METRICS = FieldMetric.values().length;

    private final List<ForecastKind> forecasts;
    private final int leads;
    private final int variables;
    private final int initialTimes;
    private final double[][] values; // (forecasts), each (leads, variables, metrics, initial times)

    /**
     * Allocates a table; all numbers are 0.
     *
     * @throws IllegalArgumentException if one extent is not positive, or the table is too large for an array
     */
    public ScoreTable(List<ForecastKind> forecasts, int leads, int variables, int initialTimes) {
        long size = (long) METRICS * leads * variables * initialTimes;
        if (leads < 1 || variables < 1 || initialTimes < 1 || size > Integer.MAX_VALUE - 8) {
            throw new IllegalArgumentException("a table of " + leads + " leads, " + variables + " variables and "
                + initialTimes + " initial times is empty or too large");
        }
        this.forecasts = List.copyOf(forecasts);
        this.leads = leads;
        this.variables = variables;
        this.initialTimes = initialTimes;
        values = new double[forecasts.size()][(int) size];
    }

    /** The forecasts that are scored. */
    public List<ForecastKind> forecasts() {
        return forecasts;
    }

    /** Number of leads. */
    public int leads() {
        return leads;
    }

    /** Number of variables. */
    public int variables() {
        return variables;
    }

    /** Number of initial times. */
    public int initialTimes() {
        return initialTimes;
    }

    /**
     * Enters the scores of a field.
     *
     * @param lead     in steps, 1 or more
     * @param variable index of the variable
     * @param initial  index of the initial time
     */
    public void put(ForecastKind forecast, int lead, int variable, int initial, FieldScores scores) {
        for (FieldMetric metric : FieldMetric.values()) {
            of(forecast)[index(lead, variable, metric, initial)] = scores.value(metric);
        }
    }

    /**
     * Enters all scores of a table of some of the initial times.
     *
     * @param first index of the first of them in this table
     */
    public void insert(ScoreTable part, int first) {
        for (ForecastKind forecast : forecasts) {
            double[] from = part.of(forecast);
            double[] to = of(forecast);
            for (int series = 0; series < leads * variables * METRICS; series++) {
                System.arraycopy(from, series * part.initialTimes, to, series * initialTimes + first,
                    part.initialTimes);
            }
        }
    }

    /** A metric at all initial times, (initial times). */
    public double[] series(ForecastKind forecast, int lead, int variable, FieldMetric metric) {
        int first = index(lead, variable, metric, 0);
        return Arrays.copyOfRange(of(forecast), first, first + initialTimes);
    }

    /**
     * All numbers of a forecast, (leads, variables, metrics, initial times), for ranks that score different initial
     * times: each has 0 where another has entered a score, so the table is the sum over ranks.
     */
    public double[] values(ForecastKind forecast) {
        return of(forecast);
    }

    private double[] of(ForecastKind forecast) {
        int at = forecasts.indexOf(forecast);
        if (at < 0) {
            throw new IllegalArgumentException(forecast.label() + " is not scored");
        }
        return values[at];
    }

    private int index(int lead, int variable, FieldMetric metric, int initial) {
        int field = Objects.checkIndex(lead - 1, leads) * variables + Objects.checkIndex(variable, variables);
        return (field * METRICS + metric.ordinal()) * initialTimes + Objects.checkIndex(initial, initialTimes);
    }
}
