package org.isobar.plan.report;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.annotation.JsonProperty;
import org.isobar.plan.Plan;
import org.isobar.plan.PlanLayout;
import org.isobar.plan.PlannedLayout;

/**
 * A plan as a JSON file.
 *
 * @param machine name of the machine
 * @param program {@code isobar} or {@code tutorial}
 * @param note    what the figures are
 * @param layouts all possible layouts
 * @param leftOut all impossible ones
 */
public record PlanFile(String machine, String program, String note, List<Row> layouts,
    @JsonProperty("left_out") List<Map<String, String>> leftOut) {
    private static final double GIB = 1L << 30;

    /**
     * One layout.
     *
     * @param reason    why it does not fit; empty if it does
     * @param breakdown seconds of a step by part
     */
    public record Row(int tp, int cp, int dp, String order, @JsonProperty("local_batch") int localBatch,
        int accumulate, String precision, String recompute, boolean graphs,
        @JsonProperty("samples_per_s") double samplesPerS, double low, double high,
        @JsonProperty("memory_gb") double memoryGb, boolean fits, boolean tie, String reason,
        Map<String, Double> breakdown) {
        private static Row of(PlannedLayout each, Plan plan) {
            PlanLayout layout = each.layout();
            return new Row(layout.tp(), layout.cp(), layout.dp(), layout.order(), layout.localBatch(),
                layout.accumulate(), layout.precision().name().toLowerCase(Locale.ROOT),
                layout.recompute().name().toLowerCase(Locale.ROOT), layout.graphs(),
                each.samplesPerSecond(), each.low(), each.high(), each.memoryBytes() / GIB,
                each.fits(), each.ties(plan.best()), each.fits() ? "" : String.format(Locale.ROOT,
                    "needs %.1f GB, and there are %.1f GB", each.memoryBytes() / GIB, each.capacity() / GIB),
                new TreeMap<>(each.breakdown()));
        }
    }

    /** The file of a plan. */
    public static PlanFile of(Plan plan) {
        return new PlanFile(plan.request().machine().name(),
            plan.request().program().name().toLowerCase(Locale.ROOT), plan.unvalidated() ? PlanText.UNVALIDATED : "",
            plan.layouts().stream().map(each -> Row.of(each, plan)).toList(),
            plan.leftOut().stream().map(out -> Map.of("what", out.what(), "reason", out.reason())).toList());
    }
}
