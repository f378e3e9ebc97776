package org.isobar.config.keys;

import static org.isobar.config.keys.NoEffect.Where.ON_CPU;
import static org.isobar.config.keys.ValueType.FLAG;
import static org.isobar.config.keys.ValueType.NAMES;
import static org.isobar.config.keys.ValueType.PATH;
import static org.isobar.config.keys.ValueType.TEXT;
import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.oneOf;
import static org.isobar.config.keys.ValueType.whole;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Where the data are and how they are read, as in the tutorial. */
public final class DataKeys extends KeyGroup {
    private static final int MOST_CHANNELS = 1 << 16;
    private static final ValueType<Integer> HOURS = oneOf(1, 2, 3, 4, 6, 8, 12, 24);

    private final List<Key<Path>> paths = new ArrayList<>();

    public final Key<DataLoaderConfig> dataLoaderConfig = add(Key.freeOnResume("data_loader_config",
        oneOf(DataLoaderConfig.class), "Data loader. On a GPU, dali normalizes on the GPU and copies a batch during "
            + "the step before; pytorch normalizes on the host and waits for each copy.")
        .defaultsTo(DataLoaderConfig.PYTORCH).asOption()
        .noEffect(ON_CPU, DataLoaderConfig.DALI, "there is nothing to copy: one loader serves both names"));
    public final Key<Integer> numDataWorkers = add(Key.freeOnResume("num_data_workers", count(0),
        "Threads that prefetch batches; 0 reads in the training thread.").defaultsTo(0).asOption());
    public final Key<Integer> nInChannels = add(Key.fixedOnResume("n_in_channels", count(1, MOST_CHANNELS),
        "Variables that the model reads, the first of the file, unless channels names them."));
    public final Key<Integer> nOutChannels = add(Key.fixedOnResume("n_out_channels", count(1, MOST_CHANNELS),
        "Variables that the model forecasts, the first of those that it reads."));
    public final Key<Optional<List<String>>> channels = add(Key.fixedOnResume("channels", NAMES,
        "Variables that the model reads, by name, in any order; n_in_channels and n_out_channels follow. Default: the "
            + "first n_in_channels of the file.").optional());
    public final Key<Optional<List<String>>> outChannels = add(Key.fixedOnResume("out_channels", NAMES,
        "Variables that the model forecasts, the first of channels. Default: all of them.").optional());
    public final Key<Optional<List<String>>> constants = add(Key.fixedOnResume("constants", NAMES,
        "Fields that do not change with time, such as [lsm, zs], which the model reads after channels.")
        .optional());
    public final Key<Optional<Path>> constantsPath = add(Key.freeOnResume("constants_path", PATH,
        "File of the constants: HDF5, of which the first time step is read, or npy of [1, constants, rows, columns]. "
            + "Default: the first training year.").optional());
    public final Key<Optional<Boolean>> timeChannels = add(Key.fixedOnResume("time_channels", FLAG,
        "Let the model read sine and cosine of the time of day and of the year, after channels and constants.")
        .optional());
    public final Key<Optional<Integer>> hoursPerFrame = add(Key.fixedOnResume("hours_per_frame", HOURS,
        "Hours from one time step of the data to the next; files that have times must agree. Default: 6.").optional()
        .asOption("N"));
    public final Key<Path> trainDataPath = addPath(Key.freeOnResume("train_data_path", PATH,
        "Directory of the training years, YYYY.h5."));
    public final Key<Path> validDataPath = addPath(Key.freeOnResume("valid_data_path", PATH,
        "Directory of the validation years."));
    public final Key<Path> infDataPath = addPath(Key.freeOnResume("inf_data_path", PATH,
        "Directory of the test years, which training does not read.").defaultsTo(Path.of("/data/test")));
    public final Key<Path> timeMeansPath = addPath(Key.freeOnResume("time_means_path", PATH,
        "npy file of the climatology, which training does not read.")
        .defaultsTo(Path.of("/data/stats/time_means.npy")));
    public final Key<Path> globalMeansPath = addPath(Key.freeOnResume("global_means_path", PATH,
        "npy file of each variable's mean."));
    public final Key<Path> globalStdsPath = addPath(Key.freeOnResume("global_stds_path", PATH,
        "npy file of each variable's standard deviation."));
    public final Key<Optional<Long>> limitNsamples = add(Key.fixedOnResume("limit_nsamples",
        whole(1, Long.MAX_VALUE), "Most training samples to use; None for all.").optional());
    public final Key<Optional<Long>> limitNsamplesVal = add(Key.fixedOnResume("limit_nsamples_val",
        whole(1, Long.MAX_VALUE), "Most validation samples to use; None for all.").optional());

    public final Key<Optional<String>> wireupInfo = add(Key.freeOnResume("wireup_info", TEXT,
        "In the tutorial's presets; not used.").optional());
    public final Key<Optional<String>> wireupStore = add(Key.freeOnResume("wireup_store", TEXT,
        "In the tutorial's presets; not used.").optional());

    /**
     * The keys that say where the data are, except {@link #constantsPath}, which is optional. {@code data_dir} replaces
     * the beginning of the values of all.
     */
    public List<Key<Path>> paths() {
        return Collections.unmodifiableList(paths);
    }

    private Key<Path> addPath(Key<Path> key) {
        paths.add(key);
        return add(key);
    }
}
