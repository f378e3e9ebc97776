package org.isobar.cli.data;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.data.ClimatologyFile;
import org.isobar.data.Era5Dataset;
import org.isobar.data.survey.ClimatologyWriter;
import org.isobar.data.survey.YearFiles;
import org.isobar.fault.UserException;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TaskProgress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar data climatology}: computes a climatology from years of weather. */
@Command(name = "climatology", mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
    description = "Compute the climatology: the mean of each hour of each day of the year, smoothed over days by "
        + "WeatherBench 2's window of 61 days. Time step i of a file lies i time steps after 1 January, 0 UTC.")
final class ClimatologyCommand implements Runnable {
    /** The keys that say where the training years are. */
    static final List<Key<?>> KEYS = List.of(Keys.RUN.dataDir);
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double GIGABYTE = 1e9;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "PATH", arity = "0..*",
        description = "Year files, or directories of them. Default: the training years of the preset.")
    private List<Path> paths = List.of();
    @Option(names = "--out", paramLabel = "FILE", defaultValue = "stats/climatology.h5",
        description = "HDF5 file to write.")
    private Path out;
    @Option(names = "--hours_per_frame", paramLabel = "N",
        description = "Hours from one time step to the next. Default: those of the files' times, else 6.")
    private Integer hoursPerFrame;
    @Option(names = "--force", description = "Replace an existing file.")
    private boolean force;

    ClimatologyCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public void run() {
        if (!force && Files.exists(out, LinkOption.NOFOLLOW_LINKS)) {
            throw new UserException("There is a climatology " + out + " already. Replace it with --force, or name "
                + "another file with --out.");
        }
        long start = System.nanoTime();
        try (YearFiles years = YearFiles.open(given());
            TaskProgress progress = new TaskProgress(Screen.standard(context.environment()))) {
            ClimatologyWriter writer = new ClimatologyWriter(years, years.hoursPerFrame(Optional.ofNullable(
                hoursPerFrame)));
            int empty = writer.write(out, progress::done);
            progress.clear();
            print(years, writer, empty, (System.nanoTime() - start) / NANOS_PER_SECOND);
        }
    }

    private List<Path> given() {
        boolean preset = spec.options().stream()
            .anyMatch(option -> spec.commandLine().getParseResult().hasMatchedOption(option)
                && (option.longestName().equals("--config") || option.longestName().equals("--data_dir")));
        if (!paths.isEmpty() && preset) {
            throw new ParameterException(spec.commandLine(),
                "PATH names the files, and so does --config or --data_dir: give one of them");
        }
        return paths.isEmpty() ? Era5Dataset.yearFiles(
            ConfigOptions.resolve(spec.commandLine().getParseResult(), context).data().trainPath()) : paths;
    }

    private void print(YearFiles years, ClimatologyWriter writer, int empty, double seconds) {
        PrintWriter print = spec.commandLine().getOut();
        int fields = ClimatologyFile.DAYS * writer.framesOfDay();
        print.printf(Locale.ROOT, "Wrote %s: %d hours x %d days x %s, %.3f GB, from %d files with %d time steps, "
            + "in %.1f s%n", out, writer.framesOfDay(), ClimatologyFile.DAYS, years.stored(),
            writer.bytes() / GIGABYTE, years.files().size(), years.frames(), seconds);
        if (empty > 0) {
            print.printf("%d of its %d fields have no data within 29 days, and are NaN.%n", empty, fields);
        }
        print.flush();
    }
}
