package org.isobar.scores;

/**
 * A line of the results.
 *
 * @param forecast  what was scored
 * @param variable  name of the variable
 * @param leadSteps lead in steps of the model, 1 or more
 * @param metric    name of the metric, see {@link ScoreSummary#definitions}
 * @param estimate  value and confidence interval
 */
public record Score(ForecastKind forecast, String variable, int leadSteps, String metric, Estimate estimate) { }
