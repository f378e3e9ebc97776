package org.isobar.cli.data;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.print.FactTable;
import org.isobar.data.convert.Conversion;
import org.isobar.data.convert.ConversionRequest;
import org.isobar.data.convert.YearSet;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TaskProgress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar data convert}: converts weather data to the tutorial's year files. */
@Command(name = "convert", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Convert NetCDF files, Zarr stores and Makani's HDF5 to year files with the data set `fields`, and "
        + "compute their statistics. A conversion that was interrupted is continued.")
final class ConvertCommand implements Runnable {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double GIGABYTE = 1e9;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--from", required = true, paramLabel = "SRC",
        description = "File, directory of files, or store; may be given several times.")
    private List<String> from;
    @Option(names = "--to", required = true, paramLabel = "DIR", description = "Directory to write YYYY.h5 and "
        + "stats/ to; with --valid, the files are in its directories train and valid.")
    private Path to;
    @Option(names = "--variables", paramLabel = "NAME,...", split = ",",
        description = "Short names of the channels, in their order: u10,t2m,z500. Default: the tutorial's 20.")
    private List<String> variables = new ArrayList<>();
    @Option(names = "--names", paramLabel = "FILE",
        description = "Further short names: lines of name, unit, level in hPa or -, and names in stores.")
    private Path names;
    @Option(names = "--years", paramLabel = "YEARS", defaultValue = "",
        description = "Years to convert: 1979-2015,2018. Default: all.")
    private String years;
    @Option(names = "--valid", paramLabel = "YEARS", defaultValue = "",
        description = "Years of validation, which statistics leave out.")
    private String valid;
    @Option(names = "--hours_per_frame", paramLabel = "N", defaultValue = "0",
        description = "Hours from one time step to the next, to select some of them. Default: those of the data.")
    private int hoursPerFrame;
    @Option(names = "--crop", paramLabel = "AREA", defaultValue = "",
        description = "Part of the grid: NORTH/WEST/SOUTH/EAST in degrees, or ROWSxCOLUMNS from the north and west.")
    private String crop;
    @Option(names = "--coarsen", paramLabel = "N", defaultValue = "1",
        description = "Average cells of N x N points, weighted by area.")
    private int coarsen;
    @Option(names = "--fill_nan", paramLabel = "[NAME:]VALUE,...", defaultValue = "",
        description = "Replace missing values, of all channels or of one, with a number or with the mean of the "
            + "field's others: sst:271.35. Default: refuse them.")
    private String fillNaN;
    @Option(names = "--partial", description = "Accept that years end early, and not only the last one.")
    private boolean partial;
    @Option(names = "--force", description = "Replace files of another conversion.")
    private boolean force;

    ConvertCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public void run() {
        long start = System.nanoTime();
        ConversionRequest request = new ConversionRequest(from, to, variables, Optional.ofNullable(names),
            YearSet.of("--years", years), YearSet.of("--valid", valid), hoursPerFrame, crop, coarsen, fillNaN, partial,
            force);
        PrintWriter out = spec.commandLine().getOut();
        try (Conversion conversion = Conversion.plan(request);
            TaskProgress progress = new TaskProgress(Screen.standard(context.environment()))) {
            List<List<String>> rows = new ArrayList<>(List.of(List.of("channel", "unit", "variable", "source")));
            rows.addAll(conversion.variables());
            new FactTable(out).table(rows);
            out.printf("Frames of %s (channels, latitudes, longitudes), every %d hours%n", conversion.frame(),
                conversion.hoursPerFrame());
            out.flush();
            conversion.run(progress::done, (path, frames, bytes, kept) -> {
                progress.clear();
                out.printf(Locale.ROOT, "%s %s: %d time steps, %.3f GB, after %.1f s%n", kept ? "Kept" : "Wrote", path,
                    frames, bytes / GIGABYTE, (System.nanoTime() - start) / NANOS_PER_SECOND);
                out.flush();
            });
            progress.clear();
            out.printf(Locale.ROOT, "Wrote the statistics of the training years to %s, all in %.1f s%n",
                to.resolve("stats"), (System.nanoTime() - start) / NANOS_PER_SECOND);
            out.flush();
        }
    }
}
