package org.isobar.bench.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.os.ProcessMemory;

/**
 * Cost of a training step as a function of one quantity.
 *
 * @param axis   name of the quantity
 * @param points points sorted by that quantity
 */
public record GrowthSeries(String axis, List<Point> points) {
    private static final String RANKS = "ranks, ";
    private static final int SETTLED = 2; // first epoch after the JVM has compiled the step

    /**
     * Cost of one model or number of ranks. Numbers that were not measured are null.
     *
     * @param value     value of the quantity
     * @param seconds   seconds per step
     * @param tensors   bytes of tensors
     * @param anonymous peak memory of the processes without mapped files, in bytes
     * @param cpu       seconds of CPU time per step, of all processes; null for models
     */
    public record Point(int value, Double seconds, Double tensors, Double anonymous, Double cpu) { }

    /** The parallel axis if the quantity is the number of ranks; else empty. */
    Optional<String> split() {
        return axis.startsWith(RANKS) ? Optional.of(axis.substring(RANKS.length())) : Optional.empty();
    }

    /** All series of a benchmark: tokens, width, depth, ranks. */
    static List<GrowthSeries> of(BenchFiles files) {
        List<GrowthSeries> all = new ArrayList<>();
        List<ToIntFunction<StepResult>> extents = List.of(GrowthSeries::tokens, step -> step.model().embedDim(),
            step -> step.model().depth());
        StepResult middle = files.growth().get("growth-middle");
        for (int i = 0; middle != null && i < extents.size(); i++) {
            ToIntFunction<StepResult> extent = extents.get(i);
            List<ToIntFunction<StepResult>> others = extents.stream().filter(other -> other != extent).toList();
            all.add(sorted(List.of("tokens", "embedding", "blocks").get(i), files.growth().entrySet().stream()
                .filter(entry -> others.stream().allMatch(other ->
                    other.applyAsInt(entry.getValue()) == other.applyAsInt(middle)))
                .map(entry -> point(files, entry, extent))));
        }
        for (String split : List.of("tp", "cp")) {
            all.add(sorted(RANKS + split, files.traces().entrySet().stream()
                .filter(entry -> entry.getKey().startsWith("trace-ranks-")
                    && List.of(split, TrainingTrace.ALONE).contains(entry.getValue().split()))
                .map(entry -> point(files, entry.getKey(), entry.getValue()))));
        }
        return all.stream().filter(series -> series.points().size() > 1).toList();
    }

    private static GrowthSeries sorted(String axis, Stream<Point> points) {
        return new GrowthSeries(axis, points.sorted(Comparator.comparing(Point::value)).toList());
    }

    private static int tokens(StepResult step) {
        return step.model().imgSize().stream().reduce(1, (all, side) -> all * side / step.model().patchSize());
    }

    private static Point point(BenchFiles files, Map.Entry<String, StepResult> entry,
        ToIntFunction<StepResult> extent) {
        StepResult step = entry.getValue();
        return new Point(extent.applyAsInt(step), step.stepSeconds() == null ? null : step.stepSeconds().median(),
            (double) step.memory().own(), anonymous(files, entry.getKey()), null);
    }

    private static Point point(BenchFiles files, String part, TrainingTrace trace) {
        return new Point(trace.ranks(), settled(trace), null, anonymous(files, part), settledCpu(trace));
    }

    /** Median seconds per step over the epochs of a trace without the first; null if not measured. */
    static Double settled(TrainingTrace trace) {
        double[] seconds = trace.epochs().stream().filter(epoch -> epoch.number() >= SETTLED)
            .map(TrainingTrace.Epoch::stepSeconds).filter(Objects::nonNull).mapToDouble(Double::doubleValue).toArray();
        return seconds.length == 0 ? null : Double.valueOf(Spread.of(seconds).median());
    }

    /** Seconds of CPU time per step, validation included, after epoch {@link #SETTLED}; null if not measured. */
    private static Double settledCpu(TrainingTrace trace) {
        List<TrainingTrace.Epoch> known = trace.epochs().stream()
            .filter(epoch -> epoch.number() >= SETTLED && epoch.cpuSeconds() != null).toList();
        return known.size() < 2 ? null : (known.getLast().cpuSeconds() - known.getFirst().cpuSeconds())
            / (known.getLast().steps() - known.getFirst().steps());
    }

    private static Double anonymous(BenchFiles files, String part) {
        return files.parts().stream().filter(each -> each.name().equals(part)).map(BenchmarkPart::memory)
            .filter(Objects::nonNull).map(ProcessMemory::anonymous).map(Long::doubleValue)
            .collect(Collectors.maxBy(Double::compare)).orElse(null);
    }

    /**
     * Returns the exponent of growth between two points: the slope on logarithmic axes. Null if a value is unknown.
     */
    static Double power(Point before, Point after, Double first, Double second) {
        return first == null || second == null || first <= 0 || second <= 0 ? null
            : Double.valueOf(Math.log(second / first) / Math.log((double) after.value() / before.value()));
    }
}
