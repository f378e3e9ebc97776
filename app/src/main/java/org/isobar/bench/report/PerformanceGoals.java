package org.isobar.bench.report;

import static org.isobar.bench.report.Units.quotient;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** Performance goals on a CPU, and whether they are met. */
final class PerformanceGoals {
    private static final double GROWTH = 1.05; // tolerance: times vary that much between runs
    private static final long LONG_RUN = 10_000; // steps

    private final List<StepComparison> comparisons;
    private final LoaderRates loader;
    private final List<GrowthSeries> growth;
    private final TraceTables traces;
    private final List<Goal> goals = new ArrayList<>();

    PerformanceGoals(List<StepComparison> comparisons, LoaderRates loader, List<GrowthSeries> growth,
        TraceTables traces) {
        this.comparisons = comparisons;
        this.growth = growth;
        this.loader = loader;
        this.traces = traces;
    }

    /**
     * One goal.
     *
     * @param measured the value; null if not measured
     * @param format   format of the numbers
     * @param side     side of {@code bound} on which the goal is met
     */
    private record Goal(String what, Double measured, String format, Side side, double bound) {
        /** At most, or at least, the bound. */
        private enum Side { AT_MOST, AT_LEAST }

        String boundText() {
            return (side == Side.AT_MOST ? "<= " : ">= ") + String.format(Locale.ROOT, format, bound);
        }

        String verdict() {
            return measured == null ? "" : (side == Side.AT_MOST ? measured <= bound : measured >= bound) ? "met"
                : "NOT MET";
        }
    }

    /** The goals as a table; empty if none was measured. */
    String table() {
        goals.clear();
        step("demo", "fp32", 0.70);
        step("demo", "bf16", 0.65);
        step("base", "fp32", 0.75);
        step("base", "bf16", 0.52);
        step("mp", "fp32", 0.86);
        step("mp", "bf16", 0.58);
        atMost("peak anonymous memory of base in fp32 / PyTorch's", memory("base", "fp32"), "%.2f", 0.5);
        atLeast("read and normalize on one thread / the tutorial's access",
            quotient(loader.isobar(0), loader.tutorial()), "%.1f", 4);
        atLeast("read and normalize on one thread / its memcpy", quotient(loader.isobar(0), loader.memcpy(1)),
            "%.2f", 0.65);
        atLeast("read and normalize on two threads / their memcpy", quotient(loader.isobar(2), loader.memcpy(2)),
            "%.2f", 0.70);
        atMost("start of the process to the end of demo's second step, s", traces.startup() == null ? null
            : Double.valueOf(traces.startup().median()), "%.2f", 2);
        atMost("CPU time of a step of demo on four ranks, tp / on one", ranks("tp", 4), "%.2f", 1.8);
        atMost("time of the last tenth of 10,000 steps of tiny / of the second tenth",
            growth(TraceTables.Interval::stepSeconds), "%.2f", GROWTH);
        atMost("anonymous memory after the last tenth / after the second tenth",
            growth(interval -> interval.anonymous() == null ? null : Double.valueOf(interval.anonymous())), "%.2f",
            GROWTH);
        if (goals.stream().allMatch(goal -> goal.measured == null)) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("what", "goal", "measured", "");
        goals.forEach(goal ->
            table.row(goal.what, goal.boundText(), MarkdownTable.number(goal.format, goal.measured, 1),
            goal.verdict()));
        return table.toString();
    }

    private void atMost(String what, Double measured, String format, double bound) {
        goals.add(new Goal(what, measured, format, Goal.Side.AT_MOST, bound));
    }

    private void atLeast(String what, Double measured, String format, double bound) {
        goals.add(new Goal(what, measured, format, Goal.Side.AT_LEAST, bound));
    }

    /** Compares with the fastest PyTorch. */
    private void step(String config, String products, double bound) {
        Double ratio = pytorch(config, products).map(StepComparison::isobarRatio).filter(Objects::nonNull)
            .max(Double::compare).orElse(null);
        atMost("step of " + config + " in " + products + " / PyTorch's", ratio, "%.2f", bound);
    }

    private Stream<StepComparison> pytorch(String config, String products) {
        return ways(config, products).filter(way -> !way.isIsobar());
    }

    private Stream<StepComparison> ways(String config, String products) {
        return comparisons.stream().filter(way -> way.config().equals(config) && way.products().equals(products)
            && way.peakMib() == null); // not on a GPU
    }

    /** Compares with the PyTorch that uses the least memory. */
    private Double memory(String config, String products) {
        ToDoubleFunction<StepComparison> anonymous = way -> way.memory().anonymous();
        Double other = pytorch(config, products).filter(way -> way.memory() != null).map(anonymous::applyAsDouble)
            .min(Double::compare).orElse(null);
        Double own = ways(config, products).filter(way -> way.isIsobar() && way.memory() != null)
            .map(anonymous::applyAsDouble).max(Double::compare).orElse(null);
        return quotient(own, other);
    }

    /** CPU time of a step on this many ranks that share the work along {@code split}, divided by that on one rank. */
    private Double ranks(String split, int number) {
        return growth.stream().filter(series -> series.split().filter(split::equals).isPresent())
            .map(series -> quotient(cpu(series, number), cpu(series, 1))).filter(Objects::nonNull).findFirst()
            .orElse(null);
    }

    private static Double cpu(GrowthSeries series, int ranks) {
        return series.points().stream().filter(point -> point.value() == ranks).map(GrowthSeries.Point::cpu)
            .filter(Objects::nonNull).findFirst().orElse(null);
    }

    /** Growth from the second to the last interval. The first is left out, because the JVM compiles during it. */
    private Double growth(Function<TraceTables.Interval, Double> quantity) {
        List<TraceTables.Interval> intervals = traces.intervals();
        return intervals.size() < 3 || intervals.getLast().to() < LONG_RUN ? null
            : quotient(quantity.apply(intervals.getLast()), quantity.apply(intervals.get(1)));
    }
}
