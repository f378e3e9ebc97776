package org.isobar.scores;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Averages the scores of all fields over initial times, with confidence intervals. */
public final class ScoreSummary {
    /** Square root of the average {@link FieldMetric#MSE}. */
    public static final String RMSE = "rmse";
    /** {@code 1 - rmse / rmse of persistence}. */
    public static final String SKILL = "skill";

    private static final String SKILL_CLIMATOLOGY = "skill_climatology";
    private static final String DIFFERENCE = "rmse_minus_";
    private static final ToDoubleFunction<double[]> MEAN = means -> means[0];
    private static final ToDoubleFunction<double[]> ROOT = means -> Math.sqrt(means[0]);
    private static final ToDoubleFunction<double[]> SKILL_OF = means -> 1 - Math.sqrt(means[0]) / Math.sqrt(means[1]);
    private static final ToDoubleFunction<double[]> ROOT_DIFFERENCE =
        means -> Math.sqrt(means[0]) - Math.sqrt(means[1]);

    private final ScoreTable table;
    private final List<String> variables;
    private final BlockBootstrap bootstrap;
    private final List<Score> scores = new ArrayList<>();

    private ScoreSummary(ScoreTable table, List<String> variables, BlockBootstrap bootstrap) {
        this.table = table;
        this.variables = variables;
        this.bootstrap = bootstrap;
    }

    /**
     * Computes the results, ordered by forecast, variable, lead and metric.
     *
     * @param variables names of the table's variables
     */
    public static List<Score> of(ScoreTable table, List<String> variables, BlockBootstrap bootstrap) {
        ScoreSummary summary = new ScoreSummary(table, variables, bootstrap);
        for (ForecastKind forecast : table.forecasts()) {
            for (int variable = 0; variable < table.variables(); variable++) {
                for (int lead = 1; lead <= table.leads() && forecast != ForecastKind.SECOND_MODEL; lead++) {
                    summary.add(forecast, variable, lead);
                }
            }
        }
        return List.copyOf(summary.scores);
    }

    /** What each metric means: its name in the files, and its definition. */
    public static Map<String, String> definitions() {
        Map<String, String> definitions = new LinkedHashMap<>();
        definitions.put(RMSE, "square root of mse");
        definitions.put("mse", "mean over initial times of the area-weighted mean of (forecast - truth)^2");
        definitions.put("mae", "mean over initial times of the area-weighted mean of |forecast - truth|");
        definitions.put("bias", "mean over initial times of the area-weighted mean of forecast - truth");
        definitions.put("acc", "mean over initial times of sum(w a o) / sqrt(sum(w a^2) sum(w o^2)); a and o are the "
            + "anomalies of forecast and truth against the climatology, not centred again");
        definitions.put("activity", "mean over initial times of the area-weighted standard deviation of the forecast's "
            + "anomaly against the climatology");
        definitions.put(SKILL, "1 - rmse / rmse of persistence");
        definitions.put(SKILL_CLIMATOLOGY, "1 - rmse / rmse of climatology");
        definitions.put(DIFFERENCE + "persistence", "rmse - rmse of persistence");
        definitions.put(DIFFERENCE + "second_model", "rmse - rmse of the second model");
        definitions.put("weights", "difference of sin(latitude) at the bounds of a cell, which are midpoints between "
            + "rows and the poles, or half a step beyond an outermost row more than 1.5 steps from its pole; mean one");
        definitions.put("interval", "low and high are the 2.5th and 97.5th percentile of " + BlockBootstrap.RESAMPLES
            + " resamples of blocks of " + BlockBootstrap.BLOCK.toDays() + " days of initial times, null with fewer "
            + "than two blocks; differences are paired");
        return definitions;
    }

    private void add(ForecastKind forecast, int variable, int lead) {
        double[] mse = table.series(forecast, lead, variable, FieldMetric.MSE);
        add(forecast, variable, lead, RMSE, bootstrap.estimate(ROOT, mse));
        for (FieldMetric metric : FieldMetric.values()) {
            add(forecast, variable, lead, metric.label(),
                bootstrap.estimate(MEAN, table.series(forecast, lead, variable, metric)));
        }
        compare(forecast, ForecastKind.PERSISTENCE, variable, lead, SKILL, SKILL_OF);
        compare(forecast, ForecastKind.CLIMATOLOGY, variable, lead, SKILL_CLIMATOLOGY, SKILL_OF);
        if (forecast == ForecastKind.MODEL) {
            for (ForecastKind other : List.of(ForecastKind.PERSISTENCE, ForecastKind.SECOND_MODEL)) {
                compare(forecast, other, variable, lead, DIFFERENCE + other.label(), ROOT_DIFFERENCE);
            }
        }
    }

    /** Adds a comparison of two forecasts' mean squared errors, if the other one is scored. */
    private void compare(ForecastKind forecast, ForecastKind other, int variable, int lead, String metric,
            ToDoubleFunction<double[]> statistic) {
        if (table.forecasts().contains(other)) {
            add(forecast, variable, lead, metric, bootstrap.estimate(statistic,
                table.series(forecast, lead, variable, FieldMetric.MSE),
                table.series(other, lead, variable, FieldMetric.MSE)));
        }
    }

    private void add(ForecastKind forecast, int variable, int lead, String metric, Estimate estimate) {
        scores.add(new Score(forecast, variables.get(variable), lead, metric, estimate));
    }
}
