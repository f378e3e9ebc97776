package org.isobar.bench;

import static org.isobar.bench.MarkdownTable.number;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;

import org.isobar.os.AtomicFile;

/** The results of a benchmark as one JSON file and one Markdown page, {@code report.json} and {@code report.md}. */
public final class BenchReport {
    private static final double MILLI = 1e-3;
    private static final double GIGA = 1e9;
    private static final double TERA = 1e12;
    private static final double MIB_PER_GB = 1e9 / (1 << 20);

    private final BenchFiles files;
    private final List<Comparison> comparisons;

    /** The report of what {@code files} has so far. */
    public BenchReport(BenchFiles files) {
        this.files = files;
        comparisons = Comparison.of(files);
    }

    /** Everything, for programs. */
    private record Whole(Map<String, String> facts, List<Part> parts, Map<String, CeilingsResult> ceilings,
        List<Comparison> comparisons, Map<String, StepResult> steps) { }

    /** Writes both files into {@code directory}. */
    public void write(Path directory) {
        BenchFiles.write(directory.resolve("report.json"),
            new Whole(files.facts(), files.parts(), files.ceilings(), comparisons, files.steps()));
        new AtomicFile("report", directory.resolve("report.md"), "DIR")
            .write(markdown().getBytes(StandardCharsets.UTF_8));
    }

    /** The page. */
    String markdown() {
        StringBuilder page = new StringBuilder("# Isobar beside PyTorch\n\n");
        files.facts().forEach((key, value) -> page.append("- ").append(key).append(": ").append(value).append('\n'));
        page.append("\n## Training steps\n\n").append(steps());
        page.append("## Whether all compute the same\n\n").append(agreement());
        page.append("## Ceilings\n\n").append(ceilings());
        files.steps().values().stream().filter(step -> !step.operations().isEmpty())
            .collect(Collectors.toMap(step -> step.config() + ", " + step.products(), step -> step,
                (first, later) -> first, TreeMap::new))
            .forEach((setting, step) -> page.append("## Isobar's operations: ").append(setting).append("\n\n")
                .append(operations(step)));
        return page.append("## Parts of this run\n\n").append(parts()).toString();
    }

    private MarkdownTable steps() {
        MarkdownTable table = new MarkdownTable("preset", "products", "program", "step, ms", "quartiles of rounds, ms",
            "samples/s", "TFLOP/s", "Isobar's time / this", "tensors, GB", "nvidia-smi, GB");
        for (Comparison way : comparisons) {
            String quartiles = way.rounds().stream().map(round -> String.format(Locale.ROOT, "%.2f-%.2f",
                round.lowerQuartile() / MILLI, round.upperQuartile() / MILLI)).collect(Collectors.joining(", "));
            table.row(way.config(), way.products(), way.program() + " " + way.mode(),
                number("%.2f", way.seconds(), MILLI), quartiles.isEmpty() ? "not measured" : quartiles,
                number("%.1f", way.samplesPerSecond(), 1), number("%.1f", way.flopsPerSecond(), TERA),
                number("%.3f", way.isobarRatio(), 1), number("%.2f", (double) way.ownBytes(), GIGA),
                number("%.2f", way.peakMib(), MIB_PER_GB));
        }
        return table;
    }

    private MarkdownTable agreement() {
        MarkdownTable table = new MarkdownTable("preset", "products", "program", "first losses",
            "largest relative difference", "allowed", "same");
        for (Comparison way : comparisons) {
            String losses = way.losses().stream().map(loss -> String.format(Locale.ROOT, "%.7f", loss))
                .collect(Collectors.joining(", "));
            table.row(way.config(), way.products(), way.program() + " " + way.mode(), losses,
                way.lossDifference() == null ? "unknown" : number("%.1e", way.lossDifference(), 1),
                number("%.1e", way.lossTolerance(), 1), way.agrees() ? "yes" : "NO");
        }
        return table;
    }

    private MarkdownTable ceilings() {
        MarkdownTable table = new MarkdownTable("what", "measured by", "median", "quartiles");
        for (CeilingsResult result : files.ceilings().values()) {
            ceiling(table, String.format(Locale.ROOT, "copy of %.2f GB, GB/s", result.copied() / GIGA), result,
                result.copy(), GIGA);
            result.products().forEach((name, spread) -> ceiling(table,
                "product of %d x %d, %s, TFLOP/s".formatted(result.size(), result.size(), name), result, spread, TERA));
        }
        return table;
    }

    private static void ceiling(MarkdownTable table, String what, CeilingsResult result, Spread spread, double unit) {
        table.row(what, result.program(), number("%.1f", spread == null ? null : spread.median(), unit),
            spread == null ? "not measured" : String.format(Locale.ROOT, "%.1f-%.1f", spread.lowerQuartile() / unit,
                spread.upperQuartile() / unit));
    }

    private MarkdownTable operations(StepResult step) {
        MarkdownTable table = new MarkdownTable("operation", "part of the step", "calls", "ms",
            "useful work per second", "of the ceiling");
        Double product = highest(step.products());
        Double copy = highest(null);
        for (OperationGroup group : step.operations()) {
            boolean computes = group.flops() > 0;
            double work = computes ? group.flops() : group.bytes();
            Double rate = group.seconds() == null ? null : Double.valueOf(work / group.seconds());
            Double ceiling = computes ? product : copy;
            table.row(group.name(), group.phase().toString(), String.valueOf(group.calls()),
                number("%.3f", group.seconds(), MILLI),
                computes && (rate == null || rate >= TERA) ? number("%.1f TFLOP/s", rate, TERA)
                    : number(computes ? "%.1f GFLOP/s" : "%.1f GB/s", rate, GIGA),
                number("%.0f %%", rate == null || ceiling == null ? null : Double.valueOf(rate / ceiling), MILLI * 10));
        }
        Double all = step.operations().stream().anyMatch(group -> group.seconds() == null) ? null
            : Double.valueOf(step.operations().stream().mapToDouble(OperationGroup::seconds).sum());
        table.row("all", "", "", number("%.3f", all, MILLI), "", "");
        return table;
    }

    /** The highest rate that anybody measured: of products of that name or, without one, of copies. */
    private Double highest(String products) {
        return files.ceilings().values().stream()
            .map(result -> products == null ? result.copy() : result.products().get(products))
            .filter(Objects::nonNull).map(Spread::median).max(Double::compare).orElse(null);
    }

    private MarkdownTable parts() {
        MarkdownTable table = new MarkdownTable("part", "result", "seconds", "reason");
        files.parts().forEach(part -> table.row(part.name(), part.result(), number("%.0f", part.seconds(), 1),
            part.reason()));
        return table;
    }
}
