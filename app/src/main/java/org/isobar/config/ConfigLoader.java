package org.isobar.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;
import org.isobar.telemetry.PythonFormat;
import org.isobar.vit.VitConfig;

/**
 * Turns a preset and what is laid over it into a {@link RunConfig}. Everything that can be known to be wrong without
 * touching data, log directory or device is found here.
 */
public final class ConfigLoader {
    private static final int MLP_RATIO = 4; // the tutorial knows no other
    private final ConfigRequest request;
    private final Settings settings;
    private final RankEnvironment ranks;
    private final ProcessGrid grid;

    private ConfigLoader(ConfigRequest request, Map<String, Setting> overlaid) {
        this.request = request;
        Settings given = new Settings(request.yamlFile(), request.preset(), overlaid);
        ranks = RankEnvironment.of(request.environment());
        Consistency.checkModel(given);
        Consistency.checkCuts(given);
        grid = grid(given, ranks.worldSize());
        settings = shareBatch(given, grid.size(Axis.DP));
        Consistency.checkBuilt(settings);
        Consistency.checkGraphs(settings, ranks.worldSize());
        Consistency.checkCarrier(settings);
    }

    private static ProcessGrid grid(Settings given, int worldSize) {
        try {
            return ProcessGrid.fit(given.get(Keys.PARALLEL_ORDER), worldSize, given.get(Keys.TENSOR_PARALLEL),
                given.get(Keys.CONTEXT_PARALLEL), 1);
        } catch (UserException mistake) {
            throw given.fail(mistake.getMessage() + ".");
        }
    }

    /** A given local batch size rules the global one; else each of the replicas takes its share of the global one. */
    private static Settings shareBatch(Settings given, int replicas) {
        Consistency.checkBatch(given, replicas);
        int local = given.get(Keys.LOCAL_BATCH_SIZE).orElseGet(() -> given.get(Keys.GLOBAL_BATCH_SIZE) / replicas);
        return given.with(Keys.LOCAL_BATCH_SIZE, local).with(Keys.GLOBAL_BATCH_SIZE, local * replicas);
    }

    /**
     * Resolves and checks a run's configuration.
     *
     * @throws UserException if the file cannot be read, or a key, a value or a combination of values is wrong
     */
    public static RunConfig load(ConfigRequest request) {
        Map<String, Setting> preset = new YamlFile(request.yamlFile()).preset(request.preset());
        return new ConfigLoader(request, PathRoots.apply(preset, request)).resolve();
    }

    /**
     * Resolves and checks what an earlier run was told, on the processes of today: with their share of its global
     * batch, and with its data where DATADIR or the overrides say, else where they were.
     *
     * @param entries {@link RunConfig#entries} of that run
     * @param request what is laid over it; the file that the entries stand in, and a name for the run
     * @throws UserException if a key, a value or a combination of values is wrong
     */
    public static RunConfig restore(Map<String, String> entries, ConfigRequest request) {
        return new ConfigLoader(request, PathRoots.move(SavedSettings.of(entries), request)).resolve();
    }

    private RunConfig resolve() {
        return new RunConfig(request.preset(), request.yamlFile().toAbsolutePath().normalize(), model(), training(),
            data(), parallel(), ranks, grid, output(), checkpoint(), settings.get(Keys.DEVICE),
            ThreadCount.of(settings.get(Keys.THREADS), request.environment()), cuda(), entries(),
            UnusedOptions.of(settings, ranks.worldSize()));
    }

    private CudaOptions cuda() {
        return new CudaOptions(settings.get(Keys.ENABLE_JIT) ? Fusion.FUSED : Fusion.SEPARATE,
            SinglePrecision.of(request.environment()),
            settings.get(Keys.DETERMINISTIC) ? QueryGradient.DETERMINISTIC : QueryGradient.ATOMIC);
    }

    private VitConfig model() {
        List<Integer> image = settings.get(Keys.IMG_SIZE);
        int embed = settings.get(Keys.EMBED_DIM);
        return new VitConfig(image.getFirst(), image.getLast(), settings.get(Keys.PATCH_SIZE),
            settings.get(Keys.N_IN_CHANNELS), settings.get(Keys.N_OUT_CHANNELS), embed, settings.get(Keys.DEPTH),
            settings.get(Keys.NUM_HEADS), MLP_RATIO * embed, settings.get(Keys.DROPOUT),
            settings.get(Keys.RECOMPUTE));
    }

    private TrainingConfig training() {
        return new TrainingConfig(settings.get(Keys.GLOBAL_BATCH_SIZE),
            settings.get(Keys.LOCAL_BATCH_SIZE).orElseThrow(), settings.get(Keys.NUM_ITERS),
            settings.get(Keys.AMP_MODE), settings.get(Keys.ENABLE_FUSED),
            settings.get(Keys.ENABLE_CUDA_GRAPHS), settings.get(Keys.LR), settings.get(Keys.LR_SCHEDULE),
            settings.get(Keys.WARMUP), settings.get(Keys.SEED), settings.get(Keys.INIT_WEIGHTS),
            settings.get(Keys.ON_NAN));
    }

    private DataConfig data() {
        return new DataConfig(settings.get(Keys.TRAIN_DATA_PATH), settings.get(Keys.VALID_DATA_PATH),
            settings.get(Keys.INF_DATA_PATH), settings.get(Keys.GLOBAL_MEANS_PATH),
            settings.get(Keys.GLOBAL_STDS_PATH), settings.get(Keys.TIME_MEANS_PATH), settings.get(Keys.DT),
            settings.get(Keys.NUM_DATA_WORKERS), settings.get(Keys.DATA_LOADER_CONFIG),
            optionalLong(Keys.LIMIT_NSAMPLES), optionalLong(Keys.LIMIT_NSAMPLES_VAL), synthetic());
    }

    private Optional<SyntheticData> synthetic() {
        if (!settings.isAnyGiven(Keys.SYNTHETIC)) {
            return Optional.empty();
        }
        return Optional.of(new SyntheticData(settings.get(Keys.SYNTHETIC_SEED),
            settings.get(Keys.SYNTHETIC_TRAIN_YEARS), settings.get(Keys.SYNTHETIC_VALID_YEARS),
            settings.get(Keys.SYNTHETIC_TEST_YEARS), settings.get(Keys.SYNTHETIC_SAMPLES_PER_YEAR)));
    }

    private ParallelConfig parallel() {
        return new ParallelConfig(settings.get(Keys.NODDP), settings.get(Keys.BUCKET_CAP_MB),
            new TimeLimits(seconds(Keys.START_TIMEOUT), seconds(Keys.COMM_TIMEOUT), TimeLimits.DEFAULT.stall()),
            settings.get(Keys.COMM_BACKEND));
    }

    private Duration seconds(Key<Double> key) {
        return Duration.ofMillis(Math.round(settings.get(key) * 1000));
    }

    private OutputConfig output() {
        boolean parallelGiven =
            settings.isAnyGiven(List.of(Keys.TENSOR_PARALLEL, Keys.CONTEXT_PARALLEL, Keys.PARALLEL_ORDER));
        String scale = parallelGiven
            ? grid.size(Axis.TP) * grid.size(Axis.CP) + "MP" : ranks.worldSize() + "GPU";
        Path expdir = settings.get(Keys.EXPDIR);
        String runNum = settings.get(Keys.RUN_NUM);
        return new OutputConfig(expdir, runNum, expdir.resolve(request.preset()).resolve(scale).resolve(runNum));
    }

    private CheckpointConfig checkpoint() {
        Optional<Duration> interval = settings.get(Keys.CHECKPOINT_MINUTES)
            .map(minutes -> Duration.ofMillis(Math.round(minutes * 60_000)));
        return new CheckpointConfig(settings.get(Keys.RESUME), settings.get(Keys.FORCE),
            settings.get(Keys.CHECKPOINT_EVERY).map(OptionalInt::of).orElseGet(OptionalInt::empty), interval,
            settings.get(Keys.KEEP));
    }

    /** What the log lists: every key that is given or has a value anyhow. */
    private Map<String, String> entries() {
        Map<String, String> entries = new LinkedHashMap<>();
        for (Key<?> key : Keys.ALL) {
            boolean idle = Keys.SYNTHETIC.contains(key) && !settings.isAnyGiven(Keys.SYNTHETIC);
            if (settings.isGiven(key) || !idle && !settings.get(key).equals(Optional.empty())) {
                entries.put(key.name(), PythonFormat.str(settings.get(key)));
            }
        }
        return entries;
    }

    private OptionalLong optionalLong(Key<Optional<Long>> key) {
        return settings.get(key).map(OptionalLong::of).orElseGet(OptionalLong::empty);
    }
}
