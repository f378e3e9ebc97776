package org.isobar.plan.calibrate;

import java.util.List;

/**
 * Measured training steps, to be compared with their predictions.
 *
 * @param steps   seconds of {@link StepChecks}
 * @param layouts steps of several ranks; may be empty
 */
public record CheckedTimes(List<Double> steps, List<LayoutSteps.Time> layouts) { }
