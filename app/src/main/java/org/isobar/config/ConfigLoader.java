package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;
import static org.isobar.config.keys.Keys.LAUNCH;
import static org.isobar.config.keys.Keys.MODEL;
import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.SYNTHETIC;
import static org.isobar.config.keys.Keys.TRAINING;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;

import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.Setting;
import org.isobar.config.keys.Settings;
import org.isobar.config.keys.ValueType;
import org.isobar.config.yaml.YamlFile;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.model.Architecture;
import org.isobar.model.ModelOptions;
import org.isobar.model.ModelSpec;
import org.isobar.telemetry.PythonFormat;

/**
 * Turns a preset and what overrides it into a {@link RunConfig}. It reports every mistake that can be found without
 * touching data, log directory or device.
 */
public final class ConfigLoader {
    private final ConfigRequest request;
    private final Settings settings;
    private final RankEnvironment ranks;
    private final ProcessGrid grid;

    private ConfigLoader(ConfigRequest request, Map<String, Setting> overridden) {
        this(request, overridden, (given, _) -> given);
    }

    /** Applies {@code prepare} to what is given before the batch is shared. */
    private ConfigLoader(ConfigRequest request, Map<String, Setting> overridden,
        BiFunction<Settings, BatchShares, Settings> prepare) {
        this.request = request;
        Settings given = ChannelKeys.derive(new Settings(request.yamlFile(), request.preset(), overridden));
        ranks = RankEnvironment.of(request.environment());
        Consistency.checkModel(given);
        Consistency.checkCuts(given);
        grid = grid(given, ranks.worldSize());
        BatchShares shares = new BatchShares(grid.size(Axis.DP), given.get(TRAINING.accumulateSteps).orElse(1));
        settings = shareBatch(prepare.apply(given, shares), shares);
        Consistency.checkSupported(settings);
        Consistency.checkGraphs(settings, ranks.worldSize());
        Consistency.checkCommBackend(settings);
    }

    private static ProcessGrid grid(Settings given, int worldSize) {
        try {
            return ProcessGrid.fit(given.get(LAUNCH.parallelOrder), worldSize, given.get(LAUNCH.tensorParallel),
                given.get(LAUNCH.contextParallel), 1);
        } catch (UserException mistake) {
            throw given.fail(mistake.getMessage() + ".");
        }
    }

    /** A given local batch size overrides the global one; else the global one is split evenly. */
    private static Settings shareBatch(Settings given, BatchShares shares) {
        Consistency.checkBatch(given, shares);
        long local = given.get(TRAINING.localBatchSize).map(Integer::longValue)
            .orElseGet(() -> given.get(TRAINING.globalBatchSize) / shares.count());
        if (shares.count() > Integer.MAX_VALUE / local) {
            throw given.fail(given.describe(TRAINING.localBatchSize) + ", and " + shares
                + ": the global batch has more than " + Integer.MAX_VALUE + " samples.");
        }
        return given.with(TRAINING.localBatchSize, (int) local)
            .with(TRAINING.globalBatchSize, (int) (local * shares.count()));
    }

    /**
     * Resolves and checks a run's configuration as {@link #load} does, with a global batch that its replicas can share:
     * if they cannot share the given one evenly, it is raised to the next multiple of the number of shares.
     *
     * @param raised receives a line if the batch is raised
     * @throws UserException as {@link #load} does
     */
    public static RunConfig loadRaisingBatch(ConfigRequest request, Consumer<String> raised) {
        return new ConfigLoader(request, preset(request), (given, shares) -> raise(given, shares, raised))
            .resolve();
    }

    private static Settings raise(Settings given, BatchShares shares, Consumer<String> raised) {
        int batch = given.get(TRAINING.globalBatchSize);
        long shared = Math.ceilDiv(batch, shares.count()) * shares.count();
        if (shared == batch || given.get(TRAINING.localBatchSize).isPresent() || shared > Integer.MAX_VALUE) {
            return given;
        }
        raised.accept("The global batch of " + batch + " is raised to " + shared + ", the next multiple of "
            + (shares.microBatches() == 1 ? shares : shares.count() + ", for " + shares));
        return given.with(TRAINING.globalBatchSize, (int) shared);
    }

    /**
     * Resolves and checks a run's configuration.
     *
     * @throws UserException if the file cannot be read, or the preset's name, a key, a value or a combination of values
     *                       is wrong
     */
    public static RunConfig load(ConfigRequest request) {
        return new ConfigLoader(request, preset(request)).resolve();
    }

    private static Map<String, Setting> preset(ConfigRequest request) {
        if (!ValueType.isFileName(request.preset())) {
            throw new UserException("--config=" + request.preset() + ": the name of a preset is also that of a "
                + "directory, so it has no '/' and no control character, and is neither '.' nor '..'.");
        }
        Map<String, Setting> preset = new YamlFile(request.yamlFile()).preset(request.preset());
        return PathRoots.apply(preset, request);
    }

    /**
     * Resolves and checks the configuration that an earlier run saved, for the processes of this run. They share the
     * earlier run's global batch. The data are where DATADIR or the overrides say, else where they were.
     *
     * @param entries {@link RunConfig#entries} of the earlier run
     * @param request the overrides, the file that the entries stand in, and a name for the run
     * @throws UserException if a key, a value or a combination of values is wrong
     */
    public static RunConfig restore(Map<String, String> entries, ConfigRequest request) {
        return new ConfigLoader(request, PathRoots.move(SavedSettings.of(entries), request)).resolve();
    }

    private RunConfig resolve() {
        return new RunConfig(request.preset(), request.yamlFile().toAbsolutePath().normalize(), model(),
            TrainingConfig.of(settings), DataConfig.of(settings), ParallelConfig.of(settings), ranks, grid, output(),
            CheckpointConfig.of(settings), settings.get(RUN.device),
            ThreadCount.of(settings.get(RUN.threads), request.environment()), cuda(), attention(),
            settings.get(RUN.productAlgorithms), entries(),
            UnusedOptions.of(settings, ranks.worldSize()));
    }

    private ModelSpec model() {
        List<Integer> image = settings.get(MODEL.imgSize);
        return Architecture.registered().get(settings.get(RUN.architecture)).spec(new ModelOptions(image.getFirst(),
            image.getLast(), settings.get(MODEL.patchSize), settings.get(DATA.nInChannels),
            settings.get(DATA.nOutChannels), settings.get(MODEL.embedDim), settings.get(MODEL.depth),
            settings.get(MODEL.numHeads), settings.get(MODEL.dropout), settings.get(RUN.recompute)));
    }

    private OutputConfig output() {
        boolean parallelGiven = settings.isAnyGiven(
            List.of(LAUNCH.tensorParallel, LAUNCH.contextParallel, LAUNCH.parallelOrder));
        return OutputConfig.of(settings, request.preset(), parallelGiven
            ? grid.size(Axis.TP) * grid.size(Axis.CP) + OutputConfig.OF_LAYOUT : ranks.worldSize() + "GPU");
    }

    private CudaOptions cuda() {
        return new CudaOptions(settings.get(TRAINING.enableJit) ? Fusion.FUSED : Fusion.SEPARATE,
            SinglePrecision.of(request.environment()),
            settings.get(RUN.deterministic) ? QueryGradient.DETERMINISTIC : QueryGradient.ATOMIC);
    }

    private AttentionConfig attention() {
        return new AttentionConfig(settings.get(RUN.attention), settings.get(MODEL.dropout) > 0,
            settings.get(RUN.deterministic));
    }

    /** The lines of the log's configuration block: every key that is given or has a default. */
    private Map<String, String> entries() {
        Map<String, String> entries = new LinkedHashMap<>();
        boolean synthetic = settings.isAnyGiven(SYNTHETIC.keys());
        for (Key<?> key : Keys.ALL) {
            boolean listed = synthetic || !SYNTHETIC.keys().contains(key);
            if (settings.isGiven(key) || listed && !settings.get(key).equals(Optional.empty())) {
                entries.put(key.name(), PythonFormat.str(settings.get(key)));
            }
        }
        return entries;
    }
}
