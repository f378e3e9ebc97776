package org.isobar.cli;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.DataConfig;
import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.evaluation.EvaluationPlan;
import org.isobar.evaluation.ModelEvaluation;
import org.isobar.fault.UserException;
import org.isobar.forecast.ForecastModel;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.saving.StopRequest;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar evaluate}: scores forecasts of a model against the data, persistence and climatology. */
@Command(name = EvaluateCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false,
    description = EvaluateCommand.SUMMARY,
    footer = "Example: isobar evaluate --model=logs/demo/1GPU/00 --data_dir=DIR --lead_steps=12 --out=scores")
final class EvaluateCommand implements Callable<Integer> {
    static final String NAME = "evaluate";
    static final String SUMMARY = "Score a model's forecasts at all leads, in physical units, beside persistence and "
        + "climatology, with 95 %% intervals and power spectra.";

    /** Options that are keys of a preset and say where and how the model is computed. */
    private static final Map<String, String> PLACES = places();
    private static final String BATCH = "local_batch_size";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--model", paramLabel = "DIR", description = "Directory of a model or of a run. Given twice, the "
        + "first model is also compared with the second.")
    private List<Path> directories = List.of();
    @Option(names = "--yaml_config", paramLabel = "FILE", description = "File of presets, for --config.")
    private Path presets;
    @Option(names = "--config", paramLabel = "NAME", description = "Preset of the model, instead of --model.")
    private String preset;
    @Option(names = "--weights", paramLabel = "FILE", description = "Weights of the preset's model, safetensors.")
    private Path weights;
    @Option(names = "--data_dir", paramLabel = "DIR", description = "Directory of the data, with the years in valid "
        + "and test and the statistics in stats (default: DATADIR, else as the preset says).")
    private String dataDir;
    @Option(names = "--split", paramLabel = "valid|test", description = "Which years (default: valid).")
    private Split split = Split.VALID;
    @Option(names = "--lead_steps", paramLabel = "N", required = true, description = "Steps of each forecast.")
    private int leadSteps;
    @Option(names = "--every", paramLabel = "K", description = "Start at every K-th frame of a year (default: 1).")
    private int every = 1;
    @Option(names = "--climatology", paramLabel = "FILE", description = "File of isobar data climatology, or means "
        + "over time as .npy (default: the data's time means, stats/time_means.npy).")
    private Path climatology;
    @Option(names = "--seed", paramLabel = "N", description = "Seed of the bootstrap (default: 0).")
    private long seed;
    @Option(names = "--plot", paramLabel = "NAME", split = ",", description = "Variables in the pictures "
        + "(default: all).")
    private List<String> plotted = List.of();
    @Option(names = "--out", paramLabel = "DIR", required = true, description = "Directory of the results.")
    private Path out;
    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Set any key of the preset; may be repeated.")
    private List<String> assignments = List.of();

    /** Which years are evaluated. */
    enum Split { VALID, TEST }

    private EvaluateCommand(ProgramContext context) {
        this.context = context;
    }

    /** The command with the options of {@link #PLACES}. */
    static CommandLine commandLine(ProgramContext context) {
        CommandLine line = new CommandLine(new EvaluateCommand(context));
        PLACES.forEach((key, description) -> line.getCommandSpec().addOption(OptionSpec.builder("--" + key)
            .paramLabel("VALUE").type(String.class).description(description).build()));
        return line;
    }

    private static Map<String, String> places() {
        Map<String, String> keys = new LinkedHashMap<>();
        keys.put("device", "What computes: auto, cpu or cuda.");
        keys.put("threads", "Compute threads of the CPU.");
        keys.put("amp_mode", "Precision of matrix products.");
        keys.put(BATCH, "Forecasts that a replica computes at a time (default: 1).");
        keys.put("tensor_parallel", "Size of tensor-parallel groups.");
        keys.put("context_parallel", "Size of context-parallel groups.");
        keys.put("parallel_order", "Order of the parallel axes over ranks.");
        keys.put("comm_backend", "How ranks communicate.");
        return keys;
    }

    @Override
    public Integer call() {
        requirePositive("--lead_steps", leadSteps);
        requirePositive("--every", every);
        if (directories.isEmpty() == (preset == null) || (preset == null) != (weights == null)) {
            throw new UserException("name the model with --model, or with --config and --weights");
        }
        if (directories.size() > 2) {
            throw new UserException("--model is given " + directories.size() + " times; compare two models at a time");
        }
        ForecastModel model = preset == null ? ofDirectory(directories.getFirst()) : ofPreset();
        Optional<ForecastModel> second = directories.stream().skip(1).map(this::ofDirectory).findFirst();
        EvaluationPlan plan = plan(model.run().data());
        return ModelEvaluation.run(model, second, plan, new RunContext(JobSecret.of(context.environment()),
            context.environment(), Screen.standard(context.environment()), StopRequest.NONE));
    }

    private ForecastModel ofDirectory(Path directory) {
        Map<String, String> settings = new LinkedHashMap<>(given());
        for (String assignment : assignments) {
            String[] sides = assignment.split("=", 2);
            settings.put(sides[0].strip(), sides.length == 2 ? sides[1] : "");
        }
        return ForecastModel.open(directory, settings, context.environment());
    }

    private ForecastModel ofPreset() {
        ConfigRequest request = new ConfigRequest(presets == null ? context.defaultPresets() : presets, preset,
            context.environment()).with(BATCH, "1");
        for (Map.Entry<String, String> setting : given().entrySet()) {
            request = request.with(setting.getKey(), setting.getValue());
        }
        for (String assignment : assignments) {
            request = request.set(assignment);
        }
        RunConfig run = ConfigLoader.load(dataDir == null ? request : request.with("data_dir", dataDir));
        return ForecastModel.of(run, weights);
    }

    /** The options of {@link #PLACES} that were given. */
    private Map<String, String> given() {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String key : PLACES.keySet()) {
            String value = spec.commandLine().getParseResult().matchedOptionValue("--" + key, (String) null);
            if (value != null) {
                settings.put(key, value);
            }
        }
        return settings;
    }

    private EvaluationPlan plan(DataConfig data) {
        Path years = split == Split.VALID ? data.validPath() : data.testPath();
        Path training = data.trainPath();
        Path means = data.timeMeansPath();
        if (preset == null) { // a model does not know where its data are
            Optional<Path> named = dataDir == null ? context.dataDirectory()
                : Optional.of(dataDir).filter(given -> !given.isBlank()).map(Path::of);
            Path root = named.orElseThrow(() -> new UserException(
                "--data_dir is missing: give the directory of the data, or set DATADIR"));
            years = root.resolve(split == Split.VALID ? "valid" : "test");
            training = root.resolve("train");
            means = root.resolve("stats/time_means.npy");
        }
        return new EvaluationPlan(years, training, climatology == null ? means : climatology, leadSteps, every, seed,
            List.copyOf(plotted), EvaluationPlan.PART_FIELDS, out);
    }

    private static void requirePositive(String option, int value) {
        if (value < 1) {
            throw new UserException(option + " " + value + ": it must be 1 or more");
        }
    }
}
