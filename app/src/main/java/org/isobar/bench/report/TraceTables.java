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

/** Runs that were watched from outside. */
final class TraceTables {
    private static final int STRETCHES = 10;

    private final BenchFiles files;

    TraceTables(BenchFiles files) {
        this.files = files;
    }

    /** A run's steps in stretches of equal length, to see whether the last are as the first. */
    record Stretch(long from, long to, Double stepSeconds, Long anonymous) { }

    /** Seconds from the start of the process to the end of the second step; null where not measured. */
    Spread startup() {
        return spread(startups().map(TrainingTrace::stepSeconds));
    }

    /** From nothing to the first steps; empty where nobody looked. */
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

    /** The stretches of the long run; none where there was no such run. */
    List<Stretch> stretches() {
        TrainingTrace trace = files.traces().get("trace-flat");
        List<Stretch> stretches = new ArrayList<>();
        int epochs = trace == null ? 0 : trace.epochs().size();
        for (int i = 0; i < Math.min(STRETCHES, epochs); i++) {
            int first = i * epochs / Math.min(STRETCHES, epochs);
            List<TrainingTrace.Epoch> some = trace.epochs().subList(first,
                (i + 1) * epochs / Math.min(STRETCHES, epochs));
            Spread seconds = spread(some.stream().map(TrainingTrace.Epoch::stepSeconds));
            stretches.add(new Stretch(first == 0 ? 0 : trace.epochs().get(first - 1).steps(), some.getLast().steps(),
                seconds == null ? null : Double.valueOf(seconds.median()), some.getLast().anonymous()));
        }
        return stretches;
    }

    /** The long run; empty where there was none. */
    String flatTable() {
        if (stretches().isEmpty()) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("steps", "step, ms", "anonymous memory at the end, MB");
        Function<Long, Double> number = bytes -> bytes == null ? null : Double.valueOf(bytes);
        stretches().forEach(stretch -> table.row(stretch.from() + " to " + stretch.to(),
            number("%.3f", stretch.stepSeconds(), MILLI), number("%.1f", number.apply(stretch.anonymous()), MEGA)));
        return table.toString();
    }
}
