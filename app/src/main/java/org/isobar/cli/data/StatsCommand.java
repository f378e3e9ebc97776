package org.isobar.cli.data;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.print.FactTable;
import org.isobar.data.survey.ChannelStatistics;
import org.isobar.data.survey.StatisticsScan;
import org.isobar.data.survey.YearFiles;
import org.isobar.fault.UserException;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TaskProgress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar data stats}: computes the statistics that training normalizes with. */
@Command(name = "stats", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
    description = "Compute mean, standard deviation, extremes and time mean of each channel, over all grid points and "
        + "time steps. Training needs those of the training years.")
final class StatsCommand implements Runnable {
    private static final double NANOS_PER_SECOND = 1e9;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "PATH", arity = "1..*", description = "Year files, or directories of them.")
    private List<Path> paths;
    @Option(names = "--out", paramLabel = "DIR", defaultValue = "stats",
        description = "Directory to write global_means.npy, global_stds.npy, mins.npy, maxs.npy and time_means.npy to.")
    private Path out;
    @Option(names = "--force", description = "Replace existing files.")
    private boolean force;

    StatsCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public void run() {
        for (String name : ChannelStatistics.fileNames()) {
            if (!force && Files.exists(out.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
                throw new UserException("There are statistics " + out.resolve(name) + " already. Replace them with "
                    + "--force, or name another directory with --out.");
            }
        }
        long start = System.nanoTime();
        try (YearFiles years = YearFiles.open(paths);
            TaskProgress progress = new TaskProgress(Screen.standard(context.environment()))) {
            ChannelStatistics statistics = StatisticsScan.of(years, progress::done);
            statistics.write(out, "--out");
            progress.clear();
            print(years, statistics, (System.nanoTime() - start) / NANOS_PER_SECOND);
        }
    }

    private void print(YearFiles years, ChannelStatistics statistics, double seconds) {
        PrintWriter print = spec.commandLine().getOut();
        List<List<String>> rows = new ArrayList<>(List.of(List.of("channel", "unit", "mean", "std", "min", "max")));
        for (int c = 0; c < years.stored().channels(); c++) {
            rows.add(List.of(years.channels().get(c), years.units().get(c), number(statistics.means()[c]),
                number(statistics.deviations()[c]), number(statistics.least()[c]), number(statistics.greatest()[c])));
        }
        new FactTable(print).table(rows);
        print.printf(Locale.ROOT, "Wrote the statistics of %d files with %d time steps of %s to %s in %.1f s%n",
            years.files().size(), years.frames(), years.stored(), out, seconds);
        print.flush();
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.6g", value);
    }
}
