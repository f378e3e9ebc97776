package org.isobar.bench.report;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

import org.isobar.os.AtomicFile;

/**
 * Runs of one preset on different numbers of ranks, as files: {@code scaling.md} and {@code scaling.csv} with a line a
 * run, {@code scaling.svg} with curves.
 *
 * @param preset name of the preset
 * @param notes  how the runs were made, a sentence each
 * @param runs   the runs; the first is that of the fewest ranks, to which the others are compared
 */
public record ScalingStudy(String preset, List<String> notes, List<ScalingRun> runs) {
    private static final double GIB = 0x1p30;
    private static final double PERCENT = 100;

    /**
     * Writes the files into a directory; returns them.
     *
     * @throws org.isobar.fault.UserException if one cannot be written
     */
    public List<Path> write(Path directory) {
        return Stream.of(new String[] {"scaling.md", markdown()}, new String[] {"scaling.csv", csv()},
            new String[] {"scaling.svg", ScalingPlot.svg(preset, runs)}).map(file -> {
                Path path = directory.resolve(file[0]);
                new AtomicFile("scaling study", path, "--out").write(file[1].getBytes(StandardCharsets.UTF_8));
                return path;
            }).toList();
    }

    /** The run to which the others are compared. */
    ScalingRun reference() {
        return runs.getFirst();
    }

    private String markdown() {
        StringBuilder page = new StringBuilder("# Scaling of preset " + preset + "\n\n");
        notes.forEach(note -> page.append("- ").append(note).append('\n'));
        MarkdownTable table = new MarkdownTable("layout", "global batch", "samples/s", "speed-up", "efficiency",
            "step, ms", "planned, GB a rank", "resident, GB a rank", "training, s", "train loss", "valid loss");
        for (ScalingRun run : runs) {
            ScalingRun.Epoch last = run.epochs().getLast();
            table.row(run.name(), String.valueOf(run.globalBatch()), text("%.2f", run.samplesPerSecond()),
                text("%.2f", run.speedup(reference())), text("%.0f %%", PERCENT * run.efficiency(reference())),
                text("%.1f", run.stepMillis()), text("%.3f", run.planned() / GIB), text("%.3f", run.resident() / GIB),
                text("%.1f", last.seconds()), text("%.4f", last.trainLoss()), text("%.4f", last.validLoss()));
        }
        return page.append('\n').append(table).append("![Scaling](scaling.svg)\n").toString();
    }

    private String csv() {
        StringBuilder lines = new StringBuilder("axis,ranks,global_batch,samples_per_second,speedup,efficiency,"
            + "step_ms,planned_bytes,resident_bytes,training_seconds,train_loss,valid_loss\n");
        for (ScalingRun run : runs) {
            ScalingRun.Epoch last = run.epochs().getLast();
            lines.append(text("%s,%d,%d,%.4f,%.4f,%.4f,%.3f,%.0f,%.0f,%.3f,%.6f,%.6f%n", run.axis(), run.ranks(),
                run.globalBatch(), run.samplesPerSecond(), run.speedup(reference()), run.efficiency(reference()),
                run.stepMillis(), run.planned(), run.resident(), last.seconds(), last.trainLoss(), last.validLoss()));
        }
        return lines.toString();
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format.replace("%n", "\n"), values);
    }
}
