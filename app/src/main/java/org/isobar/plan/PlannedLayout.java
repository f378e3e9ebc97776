package org.isobar.plan;

import java.util.Map;

import org.isobar.plan.simulate.Timeline;

/**
 * The prediction for one layout.
 *
 * @param layout       the layout
 * @param memoryBytes  memory of the fullest rank: planned bytes, inputs and workspace, on a CPU the copy of a
 *                     checkpoint, and the estimates of driver and communicators
 * @param plannedBytes bytes of the arenas of the fullest rank
 * @param capacity     bytes that a rank has
 * @param stepSeconds  predicted time of a step
 * @param error        relative half-width of the interval
 * @param breakdown    seconds of a step by part: products, attention, memory, launch, exposed tp, cp and dp, loader
 * @param timeline     the simulated step of the slowest rank
 */
public record PlannedLayout(PlanLayout layout, long memoryBytes, long plannedBytes, long capacity, double stepSeconds,
    double error, Map<String, Double> breakdown, Timeline timeline) {
    /** Whether it fits into memory. */
    public boolean fits() {
        return memoryBytes <= capacity;
    }

    /** Samples of all replicas per second. */
    public double samplesPerSecond() {
        return layout.dp() * (double) layout.localBatch() / stepSeconds;
    }

    /** The lower end of the interval of {@link #samplesPerSecond}. */
    public double low() {
        return samplesPerSecond() / (1 + error);
    }

    /** The upper end of the interval of {@link #samplesPerSecond}. */
    public double high() {
        return samplesPerSecond() / (1 - error);
    }

    /** Whether the intervals of both overlap. */
    public boolean ties(PlannedLayout other) {
        return low() <= other.high() && other.low() <= high();
    }
}
