package org.isobar.plan.report;

import java.util.List;

import org.isobar.bench.measure.Spread;

/**
 * A prediction beside what was measured.
 *
 * @param what      what was predicted
 * @param unit      its unit
 * @param predicted prediction
 * @param measured  measurement
 */
public record Comparison(String what, String unit, double predicted, double measured) {
    /** Relative error of the prediction. */
    public double error() {
        return predicted / measured - 1;
    }

    /** The mean of the absolute relative errors. */
    public static double mean(List<Comparison> all) {
        return all.stream().mapToDouble(each -> Math.abs(each.error())).average().orElse(0);
    }

    /** The largest absolute relative error. */
    public static double worst(List<Comparison> all) {
        return all.stream().mapToDouble(each -> Math.abs(each.error())).max().orElse(0);
    }

    /** The median of the absolute relative errors. */
    public static double median(List<Comparison> all) {
        return all.isEmpty() ? 0
            : Spread.of(all.stream().mapToDouble(each -> Math.abs(each.error())).toArray()).median();
    }
}
