package org.isobar.data.convert;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Dataset;
import org.isobar.data.Era5File;
import org.isobar.data.source.ArrayStore;
import org.isobar.data.survey.ChannelStatistics;
import org.isobar.data.survey.ScanObserver;
import org.isobar.data.survey.StatisticsScan;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.FreeSpace;

/**
 * Converts weather data to the tutorial's year files, and computes their statistics. Year files are written one after
 * another; one that is there already, from a conversion with the same settings that was interrupted, is kept, and one
 * that was begun is continued.
 */
public final class Conversion implements AutoCloseable {
    private static final double GIGABYTE = 1e9;
    private static final long SAVE_BYTES = 2L << 30;

    private final ConversionRequest request;
    private final List<ArrayStore> stores;
    private final List<ChannelSource> channels;
    private final TargetGrid grid;
    private final TimePlan plan;
    private final YearConverter converter;
    private final ConversionManifest manifest;

    /**
     * A year file of the directory.
     *
     * @param year what it has; empty if this conversion does not ask for it
     * @param kept whether it is whole already
     */
    private record Target(Path path, Optional<TimePlan.Year> year, boolean kept) { }

    private Conversion(ConversionRequest request, List<ArrayStore> stores, long saveBytes) {
        this.request = request;
        this.stores = stores;
        GridRequest part = GridRequest.of(request.crop(), request.coarsen());
        NanFill fill = NanFill.of(request.fillNaN(), request.variables());
        VariableTable table = VariableTable.of(request.names());
        channels = new Catalog(stores).find(request.variables().stream().map(table::channel).toList());
        Grids grids = new Grids(channels, part);
        grid = grids.common();
        SortedSet<Integer> asked = new TreeSet<>(request.years());
        if (!asked.isEmpty()) {
            asked.addAll(request.valid());
        }
        plan = TimePlan.of(channels, asked, request.hoursPerFrame(), request.partial());
        converter = new YearConverter(channels, grids, fill, saveBytes);
        manifest = new ConversionManifest(request.from(), channels.stream().map(ChannelSource::name).toList(),
            channels.stream().map(ChannelSource::unit).toList(),
            channels.stream().map(channel -> channel.segments().getFirst().array().name()).toList(), grid.height(),
            grid.width(), part.toString(), plan.hours(), request.fillNaN());
        checkValid();
    }

    /**
     * Opens the sources and plans the conversion. Writes nothing.
     *
     * @throws UserException if the data cannot be converted as is asked
     */
    public static Conversion plan(ConversionRequest request) {
        return plan(request, SAVE_BYTES);
    }

    /**
     * Opens the sources and plans the conversion.
     *
     * @param saveBytes bytes after which it is recorded what need not be converted again
     */
    static Conversion plan(ConversionRequest request, long saveBytes) {
        List<ArrayStore> stores = SourceOpener.open(request.from(), request.to());
        try {
            return new Conversion(request, stores, saveBytes);
        } catch (RuntimeException failure) {
            stores.forEach(ArrayStore::close);
            throw failure;
        }
    }

    private void checkValid() {
        SortedSet<Integer> years = new TreeSet<>(plan.years().stream().map(TimePlan.Year::year).toList());
        for (int year : request.valid()) {
            if (!years.contains(year)) {
                throw new UserException("--valid has the year " + year + ", and the data have the years " + years
                    + ". Leave it out.");
            }
        }
        if (years.equals(request.valid())) {
            throw new UserException("--valid has all years " + years + ", and none is left for training. Leave some "
                + "out, or convert without --valid.");
        }
    }

    /** Number of channels, latitudes and longitudes of a frame, as text. */
    public String frame() {
        return channels.size() + " x " + grid.height() + " x " + grid.width();
    }

    /** Hours from one time step to the next. */
    public int hoursPerFrame() {
        return plan.hours();
    }

    /** For each channel, its name, its unit, and what it is called in the first store that has it. */
    public List<List<String>> variables() {
        return channels.stream().map(channel -> List.of(channel.name(), channel.unit(),
            channel.segments().getFirst().array().name(),
            channel.segments().getFirst().array().store().path().toString()
                + (channel.segments().size() > 1 ? " and " + (channel.segments().size() - 1) + " more" : ""))).toList();
    }

    /** Writes the year files that are not there yet. */
    public interface YearObserver {
        /**
         * A year file is complete.
         *
         * @param kept whether it was there already
         */
        void done(Path path, int frames, long bytes, boolean kept);
    }

    /**
     * Writes all year files that are missing, and the statistics of the training years, whose frames are added up as
     * soon as they are written.
     *
     * @param progress receives the bytes that are written, or read if a file is kept; is called by several threads
     * @return the statistics
     * @throws UserException if the directory has other data, the disk is too small, or the data cannot be read or
     *     written; year files that are complete remain
     */
    public ChannelStatistics run(ScanObserver progress, YearObserver observer) {
        List<Target> targets = targets(checkDirectory());
        targets.stream().filter(Target::kept).map(Target::path).forEach(this::checkKept);
        ScanObserver.Counter counter =
            new ScanObserver.Counter(progress, targets.stream().mapToLong(this::work).sum());
        requireSpace(targets.stream().filter(target -> !target.kept).mapToLong(target ->
            work(target) - converter.leftBytes(target.year.orElseThrow(), target.path)).sum());
        StatisticsScan statistics =
            new StatisticsScan(new CropWindow(channels.size(), grid.height(), grid.width()), 1);
        manifest.write(request.to());
        for (Target target : targets) {
            complete(target, counter, isTraining(target.path) ? Optional.of(statistics) : Optional.empty());
            target.year.ifPresent(year ->
                observer.done(target.path, year.frames(), converter.bytes(year), target.kept));
        }
        ChannelStatistics result = statistics.result();
        result.write(request.to().resolve("stats"), "--to");
        return result;
    }

    /** The years that are asked for, and those that the directory has besides, in the order of the years. */
    private List<Target> targets(boolean continued) {
        SortedMap<String, Target> targets = new TreeMap<>(); // by file name
        String[] present = directory(false).toFile().list((_, name) -> name.endsWith(".h5"));
        if (present != null && present.length > 0) { // null if there is no directory
            Era5Dataset.yearFiles(directory(false)).forEach(path ->
                targets.put(path.getFileName().toString(), new Target(path, Optional.empty(), true)));
        }
        for (TimePlan.Year year : plan.years()) {
            Path path = path(year.year());
            targets.put(path.getFileName().toString(),
                new Target(path, Optional.of(year), continued && isWhole(year, path)));
        }
        return List.copyOf(targets.values());
    }

    private boolean isWhole(TimePlan.Year year, Path path) {
        return Files.isRegularFile(path) && path.toFile().length() == converter.bytes(year);
    }

    /** Bytes of a file that are to be written or read. */
    private long work(Target target) {
        return !target.kept ? converter.bytes(target.year.orElseThrow())
            : isTraining(target.path) ? target.path.toFile().length() : 0;
    }

    /** Writes a file, or reads it if it is there. */
    private void complete(Target target, ScanObserver.Counter counter, Optional<StatisticsScan> statistics) {
        if (!target.kept) {
            converter.write(target.year.orElseThrow(), target.path, counter::add, statistics);
        } else if (statistics.isPresent()) {
            try (Era5File file = Era5File.open(target.path)) {
                statistics.get().add(file, counter::add);
            }
        }
    }

    /** Whether the directory has a conversion with the same settings, which is continued. */
    private boolean checkDirectory() {
        Optional<ConversionManifest> previous =
            request.force() ? Optional.empty() : ConversionManifest.read(request.to());
        if (previous.isPresent() && !manifest.fits(previous.get())) {
            throw new UserException("Directory " + request.to() + " has a conversion with other settings ("
                + previous.get().channels() + ", " + previous.get().height() + " x " + previous.get().width() + ", "
                + previous.get().grid() + ", " + previous.get().hoursPerFrame() + " hours). Replace it with --force, "
                + "or name another directory with --to.");
        }
        for (TimePlan.Year year : plan.years()) {
            Path path = path(year.year());
            Path other = other(year.year());
            if (isThere(other)) {
                throw new UserException("There is a data file " + other + " already, and this conversion writes its "
                    + "year to " + path + ". Move it out of the directory, or name another directory with --to.");
            }
            if (previous.isEmpty() && !request.force() && isThere(path)) {
                throw new UserException("There is a data file " + path + " already, which is not of this "
                    + "conversion. Replace it with --force, or name another directory with --to.");
            }
        }
        return previous.isPresent();
    }

    private static boolean isThere(Path path) {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    /** Refuses a file that would be kept, and whose channels, grid or time steps are not those of this conversion. */
    private void checkKept(Path path) {
        try (Era5File file = Era5File.open(path)) {
            int hours = file.hoursPerFrame().orElse(plan.hours());
            boolean sameGrid = file.latitudes().filter(own -> Grids.same(own, grid.latitudes())).isPresent()
                && file.longitudes().filter(own -> Grids.same(own, grid.longitudes())).isPresent();
            String other = !file.channels().equals(manifest.channels())
                ? "the channels " + file.channels() + ", expected " + manifest.channels()
                : !sameGrid ? "other latitudes or longitudes than this conversion"
                : hours != plan.hours() ? "a time step every " + hours + " hours, expected " + plan.hours() : "";
            if (!other.isEmpty()) {
                throw new UserException("Data file " + path + " is there already and has " + other
                    + ". Move it out of the directory, replace it with --force if this conversion has its year, or "
                    + "name another directory with --to.");
            }
        }
    }

    private boolean isTraining(Path path) {
        return path.getParent().equals(directory(false));
    }

    private Path directory(boolean valid) {
        return request.valid().isEmpty() ? request.to() : request.to().resolve(valid ? "valid" : "train");
    }

    private Path path(int year) {
        return directory(request.valid().contains(year)).resolve(year + ".h5");
    }

    /** Where the year is if it belongs to the other part. */
    private Path other(int year) {
        return request.valid().isEmpty() ? request.to().resolve("train").resolve(year + ".h5")
            : directory(!request.valid().contains(year)).resolve(year + ".h5");
    }

    private void requireSpace(long bytes) {
        try {
            Files.createDirectories(request.to());
            long free = FreeSpace.of(request.to());
            if (free < bytes) {
                throw new UserException(String.format(Locale.ROOT, "The year files below %s need %.1f GB, but the disk "
                    + "has %.1f GB free. Free space, convert fewer years or variables, or choose another disk with "
                    + "--to.", request.to(), bytes / GIGABYTE, free / GIGABYTE));
            }
        } catch (IOException failure) {
            throw FileFault.unwritable("directory " + request.to(), "--to", failure);
        }
    }

    /** Closes the sources. */
    @Override
    public void close() {
        stores.forEach(ArrayStore::close);
    }
}
