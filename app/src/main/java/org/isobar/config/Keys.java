package org.isobar.config;

import static org.isobar.config.ValueType.AXES;
import static org.isobar.config.ValueType.FLAG;
import static org.isobar.config.ValueType.IMAGE_SIZE;
import static org.isobar.config.ValueType.PATH;
import static org.isobar.config.ValueType.TEXT;
import static org.isobar.config.ValueType.count;
import static org.isobar.config.ValueType.oneOf;
import static org.isobar.config.ValueType.real;
import static org.isobar.config.ValueType.whole;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.nn.Recompute;

/**
 * Every key that a preset may have, in the order of the log. First the tutorial's, then what the tutorial knows only
 * as command-line options, then ours; a command-line option sets the key of its name.
 */
final class Keys {
    // Far beyond any model and machine: what is larger is a slip of the finger, and sizes of tensors could overflow.
    private static final int MOST_CHANNELS = 1 << 20;
    private static final int MOST_BLOCKS = 10_000;
    private static final int MOST_THREADS = 4096;

    static final Key<Integer> EMBED_DIM = Key.required("embed_dim", count(1, MOST_CHANNELS));
    static final Key<Integer> DEPTH = Key.required("depth", count(1, MOST_BLOCKS));
    static final Key<Double> DROPOUT = Key.of("dropout", real("of at least 0 and under 1", p -> p >= 0 && p < 1), 0.0);
    static final Key<Integer> PATCH_SIZE = Key.required("patch_size", count(1));
    static final Key<Integer> NUM_HEADS = Key.required("num_heads", count(1));

    static final Key<List<Integer>> IMG_SIZE = Key.required("img_size", IMAGE_SIZE);
    static final Key<Integer> DT = Key.of("dt", count(1), 1);
    static final Key<Integer> GLOBAL_BATCH_SIZE = Key.required("global_batch_size", count(1));
    static final Key<Optional<Integer>> LOCAL_BATCH_SIZE = Key.optional("local_batch_size", count(1));
    static final Key<Integer> NUM_ITERS = Key.required("num_iters", count(1));
    static final Key<AmpMode> AMP_MODE = Key.of("amp_mode", oneOf(AmpMode.class), AmpMode.NONE);
    static final Key<Boolean> ENABLE_FUSED = Key.of("enable_fused", FLAG, false);
    static final Key<Boolean> ENABLE_JIT = Key.of("enable_jit", FLAG, false);
    static final Key<Boolean> ENABLE_CUDA_GRAPHS = Key.of("enable_cuda_graphs", FLAG, false);
    static final Key<Path> EXPDIR = Key.required("expdir", PATH);
    static final Key<LrSchedule> LR_SCHEDULE = Key.of("lr_schedule", oneOf(LrSchedule.class), LrSchedule.NONE);
    static final Key<Double> LR = Key.required("lr", real("above 0", lr -> lr > 0));
    static final Key<Integer> WARMUP = Key.of("warmup", count(0), 0);
    static final Key<String> OPTIMIZER = Key.of("optimizer", ValueType.only("Adam"), "Adam");

    static final Key<DataLoaderConfig> DATA_LOADER_CONFIG =
        Key.of("data_loader_config", oneOf(DataLoaderConfig.class), DataLoaderConfig.PYTORCH);
    static final Key<Integer> NUM_DATA_WORKERS = Key.of("num_data_workers", count(0), 0);
    static final Key<Integer> N_IN_CHANNELS = Key.required("n_in_channels", count(1));
    static final Key<Integer> N_OUT_CHANNELS = Key.required("n_out_channels", count(1));
    static final Key<Path> TRAIN_DATA_PATH = Key.required("train_data_path", PATH);
    static final Key<Path> VALID_DATA_PATH = Key.required("valid_data_path", PATH);
    static final Key<Path> INF_DATA_PATH = Key.of("inf_data_path", PATH, Path.of("/data/test"));
    static final Key<Path> TIME_MEANS_PATH =
        Key.of("time_means_path", PATH, Path.of("/data/stats/time_means.npy"));
    static final Key<Path> GLOBAL_MEANS_PATH = Key.required("global_means_path", PATH);
    static final Key<Path> GLOBAL_STDS_PATH = Key.required("global_stds_path", PATH);
    static final Key<Optional<Long>> LIMIT_NSAMPLES = Key.optional("limit_nsamples", whole(1, Long.MAX_VALUE));
    static final Key<Optional<Long>> LIMIT_NSAMPLES_VAL = Key.optional("limit_nsamples_val", whole(1, Long.MAX_VALUE));

    static final Key<Optional<String>> WIREUP_INFO = Key.optional("wireup_info", TEXT);
    static final Key<Optional<String>> WIREUP_STORE = Key.optional("wireup_store", TEXT);

    static final Key<String> RUN_NUM = Key.of("run_num", TEXT, "00");
    static final Key<Integer> BUCKET_CAP_MB = Key.of("bucket_cap_mb", count(1), 25);
    static final Key<Boolean> DISABLE_BROADCAST_BUFFERS = Key.of("disable_broadcast_buffers", FLAG, false);
    static final Key<Boolean> NODDP = Key.of("noddp", FLAG, false);
    static final Key<Integer> TENSOR_PARALLEL = Key.of("tensor_parallel", count(1), 1);
    static final Key<Integer> CONTEXT_PARALLEL = Key.of("context_parallel", count(1), 1);
    static final Key<Integer> PIPELINE_PARALLEL = Key.of("pipeline_parallel", count(1), 1);
    static final Key<String> PARALLEL_ORDER = Key.of("parallel_order", AXES, "tp-cp-dp");

    static final Key<CommBackend> COMM_BACKEND = Key.of("comm_backend", oneOf(CommBackend.class), CommBackend.AUTO);
    static final Key<Double> COMM_TIMEOUT = Key.of("comm_timeout", real("of at least 1", s -> s >= 1), 10.0);
    static final Key<Double> START_TIMEOUT = Key.of("start_timeout", real("of at least 1", s -> s >= 1), 120.0);

    static final Key<Backend> DEVICE = Key.of("device", oneOf(Backend.class), Backend.AUTO);
    static final Key<Long> SEED = Key.of("seed", whole(Long.MIN_VALUE, Long.MAX_VALUE), 0L);
    static final Key<Boolean> DETERMINISTIC = Key.of("deterministic", FLAG, true);
    static final Key<Recompute> RECOMPUTE = Key.of("recompute", oneOf(Recompute.class), Recompute.NONE);
    static final Key<Optional<Integer>> THREADS = Key.optional("threads", count(1, MOST_THREADS));
    static final Key<Optional<Path>> INIT_WEIGHTS = Key.optional("init_weights", PATH);
    static final Key<Resume> RESUME = Key.of("resume", ValueType.RESUME, new Resume.Never());
    static final Key<Boolean> FORCE = Key.of("force", FLAG, false);
    static final Key<Optional<Integer>> CHECKPOINT_EVERY = Key.optional("checkpoint_every", count(1));
    static final Key<Optional<Double>> CHECKPOINT_MINUTES =
        Key.optional("checkpoint_minutes", real("above 0", minutes -> minutes > 0));
    static final Key<Integer> KEEP = Key.of("keep", count(0), 2);
    static final Key<OnNan> ON_NAN = Key.of("on_nan", oneOf(OnNan.class), OnNan.STOP);
    static final Key<Optional<Path>> DATA_DIR = Key.optional("data_dir", PATH);
    static final Key<Long> SYNTHETIC_SEED = Key.of("synthetic.seed", whole(Long.MIN_VALUE, Long.MAX_VALUE), 0L);
    static final Key<Integer> SYNTHETIC_TRAIN_YEARS = Key.of("synthetic.train_years", count(1), 1);
    static final Key<Integer> SYNTHETIC_VALID_YEARS = Key.of("synthetic.valid_years", count(1), 1);
    static final Key<Integer> SYNTHETIC_TEST_YEARS = Key.of("synthetic.test_years", count(0), 0);
    static final Key<Integer> SYNTHETIC_SAMPLES_PER_YEAR = Key.of("synthetic.samples_per_year", count(2), 1460);

    /** The data set to make where there is none; a preset asks for it by giving any of these. */
    static final List<Key<?>> SYNTHETIC = List.of(SYNTHETIC_SEED, SYNTHETIC_TRAIN_YEARS, SYNTHETIC_VALID_YEARS,
        SYNTHETIC_TEST_YEARS, SYNTHETIC_SAMPLES_PER_YEAR);

    /** Where the data are; the same data may lie elsewhere tomorrow. */
    static final List<Key<Path>> DATA_PATHS = List.of(TRAIN_DATA_PATH, VALID_DATA_PATH, INF_DATA_PATH,
        TIME_MEANS_PATH, GLOBAL_MEANS_PATH, GLOBAL_STDS_PATH);

    /**
     * What may change when a run goes on from a checkpoint: who computes what, how fast, what is written where. With
     * any other key, the result would be another. Data are compared themselves, and a local batch size by the global
     * one that comes of it; weights to start from and whether to resume are spent by then.
     */
    static final List<Key<?>> HARMLESS = Stream.<List<? extends Key<?>>>of(
        List.of(TENSOR_PARALLEL, CONTEXT_PARALLEL, PIPELINE_PARALLEL, PARALLEL_ORDER, LOCAL_BATCH_SIZE, BUCKET_CAP_MB,
            DISABLE_BROADCAST_BUFFERS, WIREUP_INFO, WIREUP_STORE, COMM_BACKEND, COMM_TIMEOUT, START_TIMEOUT),
        List.of(DEVICE, THREADS, ENABLE_FUSED, ENABLE_JIT, ENABLE_CUDA_GRAPHS, DETERMINISTIC, RECOMPUTE),
        List.of(DATA_LOADER_CONFIG, NUM_DATA_WORKERS, DATA_DIR), DATA_PATHS, SYNTHETIC,
        List.of(EXPDIR, RUN_NUM, INIT_WEIGHTS, RESUME, FORCE, CHECKPOINT_EVERY, CHECKPOINT_MINUTES, KEEP, ON_NAN))
        .<Key<?>>flatMap(List::stream).toList();

    static final List<Key<?>> ALL = List.of(
        EMBED_DIM, DEPTH, DROPOUT, PATCH_SIZE, NUM_HEADS,
        IMG_SIZE, DT, GLOBAL_BATCH_SIZE, LOCAL_BATCH_SIZE, NUM_ITERS, AMP_MODE, ENABLE_FUSED, ENABLE_JIT,
        ENABLE_CUDA_GRAPHS, EXPDIR, LR_SCHEDULE, LR, WARMUP, OPTIMIZER,
        DATA_LOADER_CONFIG, NUM_DATA_WORKERS, N_IN_CHANNELS, N_OUT_CHANNELS, TRAIN_DATA_PATH, VALID_DATA_PATH,
        INF_DATA_PATH, TIME_MEANS_PATH, GLOBAL_MEANS_PATH, GLOBAL_STDS_PATH, LIMIT_NSAMPLES, LIMIT_NSAMPLES_VAL,
        WIREUP_INFO, WIREUP_STORE,
        RUN_NUM, BUCKET_CAP_MB, DISABLE_BROADCAST_BUFFERS, NODDP, TENSOR_PARALLEL, CONTEXT_PARALLEL, PIPELINE_PARALLEL,
        PARALLEL_ORDER,
        COMM_BACKEND, COMM_TIMEOUT, START_TIMEOUT,
        DEVICE, SEED, DETERMINISTIC, RECOMPUTE, THREADS, INIT_WEIGHTS,
        RESUME, FORCE, CHECKPOINT_EVERY, CHECKPOINT_MINUTES, KEEP, ON_NAN, DATA_DIR,
        SYNTHETIC_SEED, SYNTHETIC_TRAIN_YEARS, SYNTHETIC_VALID_YEARS, SYNTHETIC_TEST_YEARS,
        SYNTHETIC_SAMPLES_PER_YEAR);

    private Keys() { }
}
