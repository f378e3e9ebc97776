package org.isobar.data;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * Presents all year files of a directory as one sequence of samples. A sample consists of an input frame and a target
 * frame {@code dt} time steps later. {@link YearIndex} numbers the samples. Reading is thread-safe and, for contiguous
 * files, allocates nothing.
 */
public final class Era5Dataset implements AutoCloseable {
    private final DatasetConfig config;
    private final CropWindow variables;
    private final CropWindow target;
    private final InputDescription inputs;
    private final Normalization normalization;
    private final Normalization raw;
    private final DatasetFiles files;
    private final YearIndex years;

    private Era5Dataset(DatasetConfig config, InputDescription inputs, DatasetFiles files) {
        this.config = config;
        variables = config.variables();
        target = config.target();
        this.inputs = inputs;
        normalization = inputs.normalization();
        raw = Normalization.none(normalization.means().length);
        this.files = files;
        checkLimit();
        years = new YearIndex(files.times(), config.dt(), config.limit().orElse(Long.MAX_VALUE));
    }

    private Era5Dataset checked() {
        for (int year = 0; year < files.times().size(); year++) {
            checkExtents(config, files.get(year));
            inputs.requireFit(files.get(year));
        }
        for (int year = 0; year < files.times().size(); year++) {
            files.get(year).requireHours(config.hoursPerFrame());
        }
        checkTimes();
        return this;
    }

    /**
     * Opens training data: all files of the configured directory. Checks that every sample exists.
     *
     * @throws UserException if the files or the statistics do not match the configuration
     */
    public static Era5Dataset open(DatasetConfig config) {
        return open(config, first -> InputDescription.of(config, first));
    }

    /**
     * Opens other data of the same model, as {@link #open(DatasetConfig)} does.
     *
     * @param inputs the model's channels, as its training data describe them
     */
    public static Era5Dataset open(DatasetConfig config, InputDescription inputs) {
        return open(config, _ -> inputs);
    }

    /**
     * Describes the channels of a model that is trained on these data. The statistics have the channels of the first
     * file.
     *
     * @param config training data; if channels are chosen by name, the directory must exist
     * @throws UserException if the first file, the statistics or the constant fields do not match the configuration
     */
    public static InputDescription describe(DatasetConfig config) {
        if (!config.channels().isNamed() && !Files.isDirectory(config.directory())) {
            return InputDescription.ofStatistics(config);
        }
        try (Era5File first = Era5File.open(yearFiles(config.directory()).getFirst(), config.channels().variables())) {
            return InputDescription.of(config, first);
        }
    }

    private static Era5Dataset open(DatasetConfig config, Function<Era5File, InputDescription> inputs) {
        DatasetFiles files = new DatasetFiles(yearFiles(config.directory()), config.channels().variables());
        try {
            files.openAll();
            return new Era5Dataset(config, inputs.apply(files.get(0)), files).checked();
        } catch (RuntimeException failure) {
            files.close();
            throw failure;
        }
    }

    /**
     * Opens training data that rank 0 of the job has opened and checked. Of the files, only the first one is opened
     * now, and each of the others when a sample of it is first read.
     *
     * @param times the number of time steps of each year, as rank 0 has found it; called when the first file is open
     * @throws UserException as {@link #open(DatasetConfig)} does, as far as the first file, the statistics and the
     *                       number of files show; other files are checked when they are opened
     */
    public static Era5Dataset openShared(DatasetConfig config, Supplier<List<Integer>> times) {
        return openShared(config, times, first -> InputDescription.of(config, first));
    }

    /** Opens other data of the same model, as {@link #openShared(DatasetConfig, Supplier)} does. */
    public static Era5Dataset openShared(DatasetConfig config, Supplier<List<Integer>> times, InputDescription inputs) {
        return openShared(config, times, _ -> inputs);
    }

    private static Era5Dataset openShared(DatasetConfig config, Supplier<List<Integer>> times,
        Function<Era5File, InputDescription> inputs) {
        DatasetFiles files = new DatasetFiles(yearFiles(config.directory()), config.channels().variables());
        try {
            Era5File first = files.get(0);
            InputDescription described = inputs.apply(first);
            check(config, described, first);
            files.expect(times.get(), file -> check(config, described, file));
            return new Era5Dataset(config, described, files);
        } catch (RuntimeException failure) {
            files.close();
            throw failure;
        }
    }

    /** Number of samples. */
    public int size() {
        return years.size();
    }

    /**
     * Checks that there are enough samples for a batch.
     *
     * @throws UserException if there are fewer than {@code samples}
     */
    public void requireBatch(int samples) {
        if (size() < samples) {
            throw new UserException("The data set at " + config.directory() + " holds " + size()
                + " samples, fewer than one batch of " + samples
                + ". Lower the batch size, use more data, or raise limit_nsamples.");
        }
    }

    /** The configuration of this data set. */
    public DatasetConfig config() {
        return config;
    }

    /** The years of the samples. */
    public YearIndex years() {
        return years;
    }

    /** The year files, in order. */
    public List<Path> files() {
        return files.paths();
    }

    /** Extents of a frame of the first year file, of which {@code img_size} may be a part. */
    public CropWindow stored() {
        return files.get(0).stored();
    }

    /** Number of time steps of each year file. */
    public List<Integer> times() {
        return files.times();
    }

    /** Number of year files that are open now. */
    int openFiles() {
        return files.opened();
    }

    /** What the training data say about the model's channels. */
    public InputDescription inputs() {
        return inputs;
    }

    /** Statistics of all channels of input and target. */
    Normalization normalization() {
        return normalization;
    }

    /**
     * Reads a normalized sample into memory, in single precision and native byte order.
     *
     * @param input        receives the input, (inChannels, height, width)
     * @param inputOffset  byte offset in {@code input}
     * @param target       receives the target, (outChannels, height, width)
     * @param targetOffset byte offset in {@code target}
     * @throws UserException if the file cannot be read there
     */
    public void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset) {
        read(sample, normalization, input, inputOffset, target, targetOffset);
    }

    /** Reads a sample into memory as {@link #read} does, without normalizing it. */
    void readRaw(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset) {
        read(sample, raw, input, inputOffset, target, targetOffset);
    }

    /** Tells the kernel to read a sample into the page cache; see {@link Era5File#willNeed}. */
    void willNeed(long sample) {
        Era5File file = files.get(years.yearOf(sample));
        int time = years.timeOf(sample);
        file.willNeed(time, variables);
        file.willNeed(time + config.dt(), target);
    }

    private void read(long sample, Normalization applied, MemorySegment input, long inputOffset, MemorySegment target,
        long targetOffset) {
        Era5File file = files.get(years.yearOf(sample));
        int time = years.timeOf(sample);
        file.read(time, variables, applied, input, inputOffset);
        if (inputs.extra().count() > 0) {
            inputs.extra().write(file.time(time, config.hoursPerFrame()), applied.means(), applied.spreads(),
                variables.channels(), input, inputOffset);
        }
        file.read(time + config.dt(), this.target, applied, target, targetOffset);
    }

    /** The first NaN or infinity in a sample, input before target; empty if all values are finite. */
    public Optional<NonFiniteValue> firstNonFinite(long sample) {
        return firstNonFinite(sample, years.timeOf(sample), variables)
            .or(() -> firstNonFinite(sample, years.timeOf(sample) + config.dt(), target));
    }

    private Optional<NonFiniteValue> firstNonFinite(long sample, int time, CropWindow window) {
        Era5File file = files.get(years.yearOf(sample));
        MemorySegment values = MemorySegment.ofArray(new float[Math.toIntExact(window.elements())]);
        file.read(time, window, normalization, values, 0);
        return NonFiniteValue.find(values, window).map(place -> new NonFiniteValue(sample, file.path(), time,
            file.channelText(place.channel()), place.row(), place.column(), place.value()));
    }

    /** Unmaps and closes the files. No read may be in progress. */
    @Override
    public void close() {
        files.close();
    }

    /**
     * The year files of a directory, in the order of their names.
     *
     * @throws UserException if there are none, or the name of one does not end in a year
     */
    public static List<Path> yearFiles(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new UserException("There is no data directory " + directory
                + ". Set --data_dir, or make a data set with `isobar synthesize`.");
        }
        List<Path> paths;
        try (Stream<Path> entries = Files.list(directory)) {
            paths = entries.filter(path -> path.getFileName().toString().endsWith(".h5"))
                .filter(path -> !path.getFileName().toString().startsWith(".")).sorted().toList();
        } catch (IOException failure) {
            throw FileFault.unreadable("data directory " + directory, failure);
        }
        if (paths.isEmpty()) {
            throw new UserException("Data directory " + directory + " holds no HDF5 files (*.h5). Set --data_dir to "
                + "the directory above train and valid, or make a data set with `isobar synthesize`.");
        }
        paths.forEach(Era5Dataset::checkYear);
        return paths;
    }

    /** Checks that the file name ends in a year: the tutorial reads the last four characters before the extension. */
    private static void checkYear(Path path) {
        if (YearTimes.year(path).isEmpty()) {
            String stem = path.getFileName().toString().replaceFirst("\\.h5$", "");
            throw new UserException("The name of data file " + path + " does not end in a year: '"
                + stem.substring(Math.max(0, stem.length() - 4)) + "' is not a number. "
                + "Name it like 1979.h5, or move it out of the directory.");
        }
    }

    private static void check(DatasetConfig config, InputDescription inputs, Era5File file) {
        checkExtents(config, file);
        inputs.requireFit(file);
        file.requireHours(config.hoursPerFrame());
    }

    private static void checkExtents(DatasetConfig config, Era5File file) {
        CropWindow stored = file.stored();
        int channels = Math.max(config.variables().channels(), config.outChannels());
        if (stored.channels() < channels) {
            throw new UserException("Data file " + file.path() + " has " + stored.channels() + " channels, "
                + channels + " are configured. Lower n_in_channels and n_out_channels, or use other data.");
        }
        file.requireHolds(config.variables());
    }

    private void checkLimit() {
        long all = files.times().stream().mapToLong(Integer::longValue).sum();
        if (Math.min(all, config.limit().orElse(all)) > Integer.MAX_VALUE) {
            throw new UserException("The data set at " + config.directory() + " has " + all + " samples, and at most "
                + Integer.MAX_VALUE + " can be used. Use fewer files, or set limit_nsamples.");
        }
        if (config.limit().orElse(1) < 1) {
            throw new UserException("The number of samples is limited to " + config.limit().getAsLong()
                + ", but at least 1 is needed. Raise limit_nsamples.");
        }
    }

    /** Checks that the target frame of every sample exists. */
    private void checkTimes() {
        int dt = config.dt();
        for (int year = 0; year < years.years(); year++) {
            if (years.samples(year) <= dt) {
                throw tooShort(files.get(year), "");
            }
        }
        for (long sample = 0; sample < size(); sample++) {
            Era5File file = files.get(years.yearOf(sample));
            int last = years.timeOf(sample) + dt;
            if (last >= file.times()) {
                throw tooShort(file, " (sample " + sample + " needs step " + last + ")");
            }
        }
    }

    private UserException tooShort(Era5File file, String reason) {
        return new UserException("Data file " + file.path() + " holds " + file.times()
            + " time steps, too few for dt = " + config.dt() + reason + ". A year needs at least 3 dt time steps: "
            + "lower dt, complete the file, or move it out of the directory.");
    }
}
