package org.isobar.cli.data;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.print.FactTable;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.yaml.YamlFile;
import org.isobar.data.Era5File;
import org.isobar.data.Era5Frames;
import org.isobar.data.Hdf5Contents;
import org.isobar.data.convert.StoreContents;
import org.isobar.data.survey.ValueCensus;
import org.isobar.data.survey.YearFiles;
import org.isobar.fault.UserException;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TaskProgress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar data inspect}: prints what weather files contain, and which presets can be trained on them. */
@Command(name = "inspect", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Print what weather files contain: variables, years, ranges of values and NaNs; and which presets "
        + "they fit. Reads all values. Exits with 2 if a file cannot be used.")
final class InspectCommand implements Callable<Integer> {
    private static final int UNUSABLE = 2;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "PATH", arity = "1..*", description = "HDF5 files, directories of year files or "
        + "of train and valid, NetCDF files, or Zarr stores.")
    private List<Path> paths;
    @Option(names = "--yaml_config", paramLabel = "FILE",
        description = "File of presets. Default: ./config/ViT.yaml, else the one beside the launcher.")
    private Path presets;

    InspectCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        FactTable facts = new FactTable(out);
        int code = 0;
        for (Path store : paths.stream().filter(StoreContents::isStore).toList()) {
            code = Math.max(code, attempt(out, () -> new StoreReport(context, out).print(store)));
        }
        List<Path> files = YearFiles.paths(paths.stream().filter(path -> !StoreContents.isStore(path))
            .flatMap(path -> Era5Frames.parts(path).stream()).toList());
        for (Path file : files) {
            code = Math.max(code, attempt(out, () -> contents(file, facts, out)));
        }
        if (code == 0 && !files.isEmpty()) {
            try (YearFiles years = YearFiles.open(files)) {
                frames(years, facts);
                ranges(years, facts);
                fits(years, facts);
            }
        }
        out.flush();
        return code;
    }

    private static void contents(Path path, FactTable facts, PrintWriter out) {
        out.println(path);
        List<List<String>> rows = new ArrayList<>(List.of(List.of("variable", "shape", "type", "storage")));
        Hdf5Contents.of(path).forEach(variable ->
            rows.add(List.of(variable.name(), variable.shape(), variable.type(), variable.storage())));
        facts.table(rows);
        Era5File.open(path).close();
    }

    /** Prints about a file or store. The exit code: one that cannot be used is named, and the others follow. */
    private int attempt(PrintWriter out, Runnable print) {
        try {
            print.run();
            return 0;
        } catch (UserException unusable) {
            PrintWriter err = spec.commandLine().getErr();
            out.flush();
            err.println("isobar: " + unusable.getMessage());
            err.flush();
            return UNUSABLE;
        }
    }

    private static void frames(YearFiles years, FactTable facts) {
        facts.heading("Time steps of " + years.stored() + " (channels, latitudes, longitudes)");
        List<List<String>> rows = new ArrayList<>();
        years.files().forEach(file ->
            rows.add(List.of(file.path().getFileName().toString(), Integer.toString(file.times()))));
        rows.add(List.of("all", Long.toString(years.frames())));
        facts.table(rows);
    }

    private void ranges(YearFiles years, FactTable facts) {
        List<ValueCensus> census;
        try (TaskProgress progress = new TaskProgress(Screen.standard(context.environment()))) {
            census = ValueCensus.of(years, progress::done);
        }
        facts.heading("Values");
        List<List<String>> rows = new ArrayList<>(List.of(List.of("channel", "unit", "min", "max", "NaN", "infinite")));
        for (int c = 0; c < census.size(); c++) {
            ValueCensus channel = census.get(c);
            rows.add(List.of(years.channels().get(c), years.units().get(c), number(channel.least()),
                number(channel.greatest()), Long.toString(channel.nans()), Long.toString(channel.infinite())));
        }
        facts.table(rows);
    }

    private void fits(YearFiles years, FactTable facts) {
        Path file = presets == null ? context.defaultPresets() : presets;
        facts.heading("Presets of " + file);
        List<List<String>> rows = new ArrayList<>();
        for (String name : new YamlFile(file).names()) {
            rows.add(List.of(name, fit(file, name, years)));
        }
        facts.table(rows);
    }

    private String fit(Path file, String name, YearFiles years) {
        try {
            RunConfig preset = ConfigLoader.load(new ConfigRequest(file, name, context.environment()));
            List<String> missing = PresetFit.missing(preset, years);
            return missing.isEmpty() ? PresetFit.cropping(preset, years)
                : "does not fit: " + String.join("; ", missing);
        } catch (UserException invalid) {
            return "cannot be used: " + invalid.getMessage();
        }
    }

    private static String number(float value) {
        return Float.isInfinite(value) ? "none" : String.format(Locale.ROOT, "%.6g", value);
    }
}
