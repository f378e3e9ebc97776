package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.MEGA;
import static org.isobar.bench.report.Units.MILLI;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.TrainingTrace;

/** Tables of training runs that were observed from outside. */
final class TraceTables {
    private static final int INTERVALS = 10;

    private final BenchFiles files;

    TraceTables(BenchFiles files) {
        this.files = files;
    }

    /** One of several equal intervals of the steps of a long run, to see whether time or memory grows. */
    record Interval(long from, long to, Double stepSeconds, Long anonymous) { }

    /** Seconds from the start of the process to the end of the second step; null if not measured. */
    Spread startup() {
        return spread(startups().map(TrainingTrace::stepSeconds));
    }

    /** Table of start-up times; empty if not measured. */
    String startupTable() {
        if (startups().findAny().isEmpty()) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("from the start of the process to", "runs", "median, s",
            "least and most, s");
        row(table, "the end of `isobar --version`", spread(files.parts().stream()
            .filter(part -> part.name().startsWith("version-")).map(BenchmarkPart::seconds)));
        row(table, "the training loop of `demo`", spread(startups().map(TrainingTrace::loopSeconds)));
        row(table, "the end of its second step", startup());
        return table.toString();
    }

    private Stream<TrainingTrace> startups() {
        return files.traces().entrySet().stream().filter(entry -> entry.getKey().startsWith("trace-startup-"))
            .map(Map.Entry::getValue);
    }

    private static Spread spread(Stream<Double> seconds) {
        double[] known = seconds.filter(Objects::nonNull).mapToDouble(Double::doubleValue).toArray();
        return known.length == 0 ? null : Spread.of(known);
    }

    private static void row(MarkdownTable table, String what, Spread seconds) {
        table.row(what, seconds == null ? "" : String.valueOf(seconds.count()),
            number("%.2f", seconds == null ? null : seconds.median(), 1), seconds == null ? ""
                : String.format(Locale.ROOT, "%.2f-%.2f", seconds.low(), seconds.high()));
    }

    /** The intervals of the long run; empty without such a run. */
    List<Interval> intervals() {
        TrainingTrace trace = files.traces().get("trace-flat");
        List<Interval> intervals = new ArrayList<>();
        int epochs = trace == null ? 0 : trace.epochs().size();
        for (int i = 0; i < Math.min(INTERVALS, epochs); i++) {
            int first = i * epochs / Math.min(INTERVALS, epochs);
            List<TrainingTrace.Epoch> some = trace.epochs().subList(first,
                (i + 1) * epochs / Math.min(INTERVALS, epochs));
            Spread seconds = spread(some.stream().map(TrainingTrace.Epoch::stepSeconds));
            intervals.add(new Interval(first == 0 ? 0 : trace.epochs().get(first - 1).steps(), some.getLast().steps(),
                seconds == null ? null : Double.valueOf(seconds.median()), some.getLast().anonymous()));
        }
        return intervals;
    }

    /** Table of the long run; empty without such a run. */
    String flatTable() {
        if (intervals().isEmpty()) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("steps", "step, ms", "anonymous memory at the end, MB");
        Function<Long, Double> number = bytes -> bytes == null ? null : Double.valueOf(bytes);
        intervals().forEach(interval -> table.row(interval.from() + " to " + interval.to(),
            number("%.3f", interval.stepSeconds(), MILLI), number("%.1f", number.apply(interval.anonymous()), MEGA)));
        return table.toString();
    }
}
