package org.isobar.scores;

import java.time.Duration;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Results of an evaluation.
 *
 * @param definitions  what the metrics mean, and anything else that the numbers depend on
 * @param variables    names of the variables in the order of the channels
 * @param units        their units, in the same order; empty where one is unknown
 * @param initialTimes UTC, in increasing order
 * @param step         time between two leads
 * @param leads        number of leads
 * @param scores       all results
 */
public record ScoreReport(Map<String, String> definitions, List<String> variables, List<String> units,
        List<LocalDateTime> initialTimes, Duration step, int leads, List<Score> scores) {

    /** The unit of a variable; empty if it is unknown. */
    public String unit(String variable) {
        return units.get(variables.indexOf(variable));
    }

    /** A lead in hours. */
    public double hours(int leadSteps) {
        return leadSteps * (step.toSeconds() / (double) Duration.ofHours(1).toSeconds());
    }

    /** The result of one forecast, variable and metric at each lead; NaN where there is none. */
    public Estimate[] byLead(ForecastKind forecast, String variable, String metric) {
        Estimate[] estimates = new Estimate[leads];
        Estimate none = new Estimate(Double.NaN, Double.NaN, Double.NaN);
        Arrays.fill(estimates, none);
        Predicate<Score> wanted = score -> score.forecast() == forecast && score.variable().equals(variable)
            && score.metric().equals(metric);
        scores.stream().filter(wanted).forEach(score -> estimates[score.leadSteps() - 1] = score.estimate());
        return estimates;
    }
}
