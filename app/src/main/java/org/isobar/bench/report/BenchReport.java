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

/** The results of a benchmark as one JSON file and one Markdown page, {@code report.json} and {@code report.md}. */
public final class BenchReport {
    private static final String PLOT = "growth.svg";

    private final BenchFiles files;
    private final List<Comparison> comparisons;
    private final List<GrowthSeries> growth;
    private final String plot;

    /** The report of what {@code files} has so far. */
    public BenchReport(BenchFiles files) {
        this.files = files;
        comparisons = Comparison.of(files);
        growth = GrowthSeries.of(files);
        plot = new GrowthPlot(growth).svg();
    }

    /** Everything, for programs. */
    private record Whole(Map<String, String> facts, List<BenchmarkPart> parts, Map<String, CeilingsResult> ceilings,
        List<Comparison> comparisons, Map<String, StepResult> steps, Map<String, LoaderResult> loaders,
        List<GrowthSeries> growth, Map<String, TrainingTrace> traces) { }

    /** Writes both files into {@code directory}. */
    public void write(Path directory) {
        BenchFiles.write(directory.resolve("report.json"),
            new Whole(files.facts(), files.parts(), files.ceilings(), comparisons, files.steps(), files.loaders(),
                growth, files.traces()));
        if (!plot.isEmpty()) {
            write(directory.resolve(PLOT), plot);
        }
        write(directory.resolve("report.md"), markdown());
    }

    private static void write(Path file, String text) {
        new AtomicFile("report", file, "DIR").write(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The page: what there is. */
    String markdown() {
        LoaderRates loader = new LoaderRates(files.loaders().values());
        TraceTables traces = new TraceTables(files);
        CeilingsTable ceilings = new CeilingsTable(files.ceilings().values());
        StringBuilder page = new StringBuilder("# Isobar beside PyTorch\n\n");
        files.facts().forEach((key, value) -> page.append("- ").append(key).append(": ").append(value).append('\n'));
        page.append('\n').append(section("Goals", "", new Goals(comparisons, loader, traces).table()))
            .append(section("Training steps", "", comparisons.isEmpty() ? "" : StepTables.steps(comparisons)))
            .append(section("Whether all compute the same", "", comparisons.isEmpty() ? ""
                : StepTables.agreement(comparisons)))
            .append(section("Ceilings", "", files.ceilings().isEmpty() ? "" : ceilings.toString()))
            .append(section("Loader", "Samples of two fields of 20 x 360 x 720 numbers, 41.5 MB, from files in the "
                + "system's cache. Isobar and the tutorial normalize them.", loader.table()))
            .append(section("Start", "With data that are there. The second step is the first that the log tells of.",
                traces.startupTable()))
            .append(section("Growth", "One sample, fp32. Where both axes are logarithmic, *power* is the slope from "
                + "the row before: 1 is proportional, 2 quadratic." + (plot.isEmpty() ? ""
                : "\n\n![Time and memory of a step as tokens, width, depth and ranks grow](" + PLOT + ")"),
                GrowthTable.models(growth)))
            .append(section("Ranks", "Processes that share the cores and the step of `demo` with four heads, its "
                + "loader included.", GrowthTable.ranks(growth)))
            .append(section("Ten thousand steps", "Of `tiny`, its loader included.", traces.flatTable()));
        OperationsTable.all(files.steps().values(), ceilings).forEach((setting, table) ->
            page.append(section("Isobar's operations: " + setting, "", table)));
        return page.append(section("Parts of this run", "", parts())).toString();
    }

    /** Nothing where there is no table. */
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
