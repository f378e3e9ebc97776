package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.TERA;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

import org.isobar.bench.measure.Spread;

/** Tables that compare programs and modes of the same training step. */
final class StepTables {
    private static final double MIB_PER_GB = 1e9 / (1 << 20);

    private StepTables() { }

    /** Table of times and memory: for a GPU memory from nvidia-smi, for a CPU memory of the processes. */
    static String steps(List<StepComparison> comparisons) {
        boolean processes = comparisons.stream().anyMatch(way -> way.memory() != null);
        boolean slow = comparisons.stream().map(StepComparison::flopsPerSecond).filter(Objects::nonNull)
            .allMatch(rate -> rate < TERA);
        List<String> columns = new ArrayList<>(List.of("preset", "products", "program", "step, ms",
            "quartiles of rounds, ms", "samples/s", slow ? "GFLOP/s" : "TFLOP/s", "Isobar's time / this",
            "tensors, GB"));
        columns.addAll(processes ? List.of("anonymous, GB", "resident, GB") : List.of("nvidia-smi, GB"));
        MarkdownTable table = new MarkdownTable(columns.toArray(String[]::new));
        for (StepComparison way : comparisons) {
            List<String> row = new ArrayList<>(List.of(way.config(), way.products(), way.name(),
                number("%.2f", way.seconds(), MILLI), quartiles(way.rounds()),
                number(way.samplesPerSecond() != null && way.samplesPerSecond() < 1 ? "%.3f" : "%.1f",
                    way.samplesPerSecond(), 1),
                number("%.1f", way.flopsPerSecond(), slow ? GIGA : TERA), ratio(way),
                way.ownBytes() == 0 ? number("", null, 1) : number("%.2f", (double) way.ownBytes(), GIGA)));
            if (processes) {
                row.add(number("%.2f", way.memory() == null ? null : Double.valueOf(way.memory().anonymous()), GIGA));
                row.add(number("%.2f", way.memory() == null ? null : Double.valueOf(way.memory().peak()), GIGA));
            } else {
                row.add(number("%.2f", way.peakMib(), MIB_PER_GB));
            }
            table.row(row.toArray(String[]::new));
        }
        return table.toString();
    }

    private static String quartiles(List<Spread> rounds) {
        String quartiles = rounds.stream().map(round -> String.format(Locale.ROOT, "%.2f-%.2f",
            round.lowerQuartile() / MILLI, round.upperQuartile() / MILLI)).collect(Collectors.joining(", "));
        return quartiles.isEmpty() ? number("", null, 1) : quartiles;
    }

    private static String ratio(StepComparison way) {
        return number("%.3f", way.isobarRatio(), 1) + (way.ratioRange() == null || way.isIsobar() ? ""
            : String.format(Locale.ROOT, " (%.3f-%.3f)", way.ratioRange().low(), way.ratioRange().high()));
    }

    /** Table of the first losses and their differences. */
    static String agreement(List<StepComparison> comparisons) {
        MarkdownTable table = new MarkdownTable("preset", "products", "program", "first losses",
            "largest relative difference", "allowed", "same");
        for (StepComparison way : comparisons) {
            String losses = way.losses().stream().map(loss -> String.format(Locale.ROOT, "%.7f", loss))
                .collect(Collectors.joining(", "));
            table.row(way.config(), way.products(), way.name(), losses,
                way.lossDifference() == null ? "unknown" : number("%.1e", way.lossDifference(), 1),
                number("%.1e", way.lossTolerance(), 1), way.agrees() ? "yes" : "NO");
        }
        return table.toString();
    }
}
