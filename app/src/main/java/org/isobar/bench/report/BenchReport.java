package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.LoaderResult;
import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.os.AtomicFile;

/** Report of a benchmark: {@code report.json}, and a Markdown page {@code report.md} with a plot. */
public final class BenchReport {
    private static final String PLOT = "growth.svg";

    private final BenchFiles files;
    private final List<StepComparison> comparisons;
    private final List<GrowthSeries> growth;
    private final String plot;

    /** Creates a report of the results so far. */
    public BenchReport(BenchFiles files) {
        this.files = files;
        comparisons = StepComparison.of(files);
        growth = GrowthSeries.of(files);
        plot = new GrowthPlot(growth).svg();
    }

    /** Contents of the JSON file. */
    private record Contents(Map<String, String> facts, List<BenchmarkPart> parts, Map<String, CeilingsResult> ceilings,
        List<StepComparison> comparisons, Map<String, StepResult> steps, Map<String, LoaderResult> loaders,
        List<GrowthSeries> growth, Map<String, TrainingTrace> traces) { }

    /** Writes the report to {@code directory}. */
    public void write(Path directory) {
        BenchFiles.write(directory.resolve("report.json"),
            new Contents(files.facts(), files.parts(), files.ceilings(), comparisons, files.steps(), files.loaders(),
                growth, files.traces()));
        if (!plot.isEmpty()) {
            write(directory.resolve(PLOT), plot);
        }
        write(directory.resolve("report.md"), markdown());
    }

    private static void write(Path file, String text) {
        new AtomicFile("report", file, "DIR").write(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The Markdown page, with a section for each kind of result present. */
    String markdown() {
        LoaderRates loader = new LoaderRates(files.loaders().values());
        TraceTables traces = new TraceTables(files);
        CeilingsTable ceilings = new CeilingsTable(files.ceilings().values());
        StringBuilder page = new StringBuilder("# Isobar and PyTorch\n\n");
        files.facts().forEach((key, value) -> page.append("- ").append(key).append(": ").append(value).append('\n'));
        page.append('\n').append(section("Goals", "",
                new PerformanceGoals(comparisons, loader, growth, traces).table()))
            .append(section("Training steps", "", comparisons.isEmpty() ? "" : StepTables.steps(comparisons)))
            .append(section("Agreement of the losses", "", comparisons.isEmpty() ? ""
                : StepTables.agreement(comparisons)))
            .append(section("Attention", AttentionTable.TEXT, AttentionTable.of(files)))
            .append(section("Ceilings", "", files.ceilings().isEmpty() ? "" : ceilings.toString()))
            .append(section("Loader", "Samples of two frames of 20 x 360 x 720 values, 41.5 MB, from files in the "
                + "page cache. Isobar and the tutorial normalize them.", loader.table()))
            .append(section("Start", "The data exist beforehand. The second step is the first with a log line.",
                traces.startupTable()))
            .append(section("Growth", "One sample, fp32. *Power* is the slope from the previous row on "
                + "logarithmic axes: 1 is linear growth, 2 quadratic." + (plot.isEmpty() ? ""
                : "\n\n![Time and memory of a step by tokens, width, depth and ranks](" + PLOT + ")"),
                GrowthTable.models(growth)))
            .append(section("Ranks", "Processes that share the cores. Steps of `demo` with four heads, including "
                + "the data loader.", GrowthTable.ranks(growth)))
            .append(section("Ten thousand steps", "Steps of `tiny`, including the data loader.", traces.flatTable()));
        OperationsTable.all(files.steps().values(), ceilings, files.modelled()).forEach((setting, table) ->
            page.append(section("Operations of Isobar: " + setting, "", table)));
        return page.append(section("Parts of this run", "", parts())).toString();
    }

    /** Returns a section, or an empty string without a table. */
    private static String section(String heading, String text, String table) {
        return table.isEmpty() ? "" : "## " + heading + "\n\n" + text + (text.isEmpty() ? "" : "\n\n") + table;
    }

    private String parts() {
        MarkdownTable table = new MarkdownTable("part", "result", "seconds", "reason");
        files.parts().forEach(part -> table.row(part.name(), part.result(), number("%.0f", part.seconds(), 1),
            part.reason()));
        return table.toString();
    }
}
