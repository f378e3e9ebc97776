package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.data.channels.ChosenChannels;
import org.isobar.fault.UserException;
import org.isobar.os.FileFingerprint;

/**
 * The frames of all years of a data set, by year and time step. A year file is opened when it is first read. Reading is
 * thread-safe.
 */
public final class Era5Frames implements AutoCloseable {
    private final SortedMap<Integer, Path> paths;
    private final Map<Integer, Era5File> open = new HashMap<>();
    private final CropWindow window;
    private final int hours;
    private final List<String> names; // of the window's channels; empty for the first ones
    private final Consumer<Era5File> check;

    private Era5Frames(SortedMap<Integer, Path> paths, CropWindow window, int hours, List<String> names,
        Consumer<Era5File> check) {
        this.check = check;
        this.names = names;
        this.paths = paths;
        this.window = window;
        this.hours = hours;
    }

    /**
     * Finds the year files of a directory, or those of its {@code train}, {@code valid} and {@code test}.
     *
     * @param window        the part of each frame that is read
     * @param hoursPerFrame hours from one frame to the next, if the files have no times
     * @throws UserException if there are none, a name does not end in a year, two files have the same year, or the
     *     first cannot be read
     */
    public static Era5Frames of(Path directory, CropWindow window, int hoursPerFrame) {
        return of(directory, window, hoursPerFrame, List.of(), _ -> { });
    }

    /**
     * Finds the year files of a directory, as {@link #of(Path, CropWindow, int)} does, to read channels by name.
     *
     * @param names names of the window's channels; empty for the first channels of each file
     * @param check is called with each file when it is opened; it throws a {@link UserException} if the file does not
     *              fit
     * @throws UserException if the files cannot be used; each file must have all of these channels when it is read
     */
    public static Era5Frames of(Path directory, CropWindow window, int hoursPerFrame, List<String> names,
        Consumer<Era5File> check) {
        SortedMap<Integer, Path> paths = paths(directory);
        return new Era5Frames(paths, window, hoursPerFrame(paths, hoursPerFrame), names, check);
    }

    /**
     * Hours from one frame of a directory to the next, as its first file says.
     *
     * @param otherwise the result if that file has no times
     * @throws UserException as {@link #of} does
     */
    public static int hoursPerFrame(Path directory, int otherwise) {
        return hoursPerFrame(paths(directory), otherwise);
    }

    private static int hoursPerFrame(SortedMap<Integer, Path> paths, int otherwise) {
        try (Era5File first = Era5File.open(paths.values().iterator().next())) {
            return first.hoursPerFrame().orElse(otherwise);
        }
    }

    private static SortedMap<Integer, Path> paths(Path directory) {
        SortedMap<Integer, Path> paths = new TreeMap<>();
        for (Path part : parts(directory)) {
            for (Path path : Era5Dataset.yearFiles(part)) {
                Path other = paths.put(YearTimes.year(path).orElseThrow(), path);
                if (other != null) {
                    throw new UserException("Data files " + other + " and " + path + " are of the same year. Give the "
                        + "directory of one of them, or move the other out of it.");
                }
            }
        }
        return paths;
    }

    /** The directories of year files: {@code train}, {@code valid} and {@code test}, or the directory itself. */
    public static List<Path> parts(Path directory) {
        List<Path> parts = Stream.of("train", "valid", "test").map(directory::resolve).filter(Files::isDirectory)
            .toList();
        return parts.isEmpty() ? List.of(directory) : parts;
    }

    /** The years that have a file. */
    public SortedSet<Integer> years() {
        return new TreeSet<>(paths.keySet());
    }

    /** The part of each frame that is read. */
    public CropWindow window() {
        return window;
    }

    /** Hours between two frames. Frame i of a year lies i times as many hours after the beginning of 1 January. */
    public int hoursPerFrame() {
        return hours;
    }

    /**
     * The places of the window's channels in the first file.
     *
     * @throws UserException if it cannot be read, or does not have them
     */
    public ChosenChannels channels() {
        return file(paths.firstKey()).choice();
    }

    /**
     * Number of frames of a year.
     *
     * @throws UserException if there is no such year, or its file cannot be read or is smaller than the window
     */
    public int count(int year) {
        return file(year).times();
    }

    /**
     * Whether there is a frame.
     *
     * @throws UserException if the file of its year cannot be read or is smaller than the window
     */
    public boolean has(int year, int frame) {
        return paths.containsKey(year) && frame >= 0 && frame < count(year);
    }

    /**
     * Reads the window of a frame into memory, (channels, height, width) in single precision and native byte order.
     *
     * @param normalization applied to each channel; {@link Normalization#none} reads the stored values
     * @param offset        byte offset in {@code target}
     * @throws UserException if there is no such frame, or it cannot be read
     */
    public void read(int year, int frame, Normalization normalization, MemorySegment target, long offset) {
        require(year, frame);
        file(year).read(frame, window, normalization, target, offset);
    }

    /**
     * Checks that there is a frame, without reading it.
     *
     * @throws UserException if there is not
     */
    public void require(int year, int frame) {
        Era5File file = file(year);
        if (frame < 0 || frame >= file.times()) {
            throw new UserException("Data file " + file.path() + " has the time steps 0 to " + (file.times() - 1)
                + ", and not " + frame + ". Choose another one, or complete the file.");
        }
    }

    /** A channel of the window as messages name it, by the first file. */
    public String channelText(int channel) {
        return file(paths.firstKey()).channelText(channel);
    }

    /** Text that differs if a year file is another one: the names of all, their sizes and times of modification. */
    public String fingerprint() {
        return paths.values().stream().map(FileFingerprint::of).collect(Collectors.joining("\n"));
    }

    /**
     * The first NaN or infinity of a frame that {@link #read} has read: file, time step, channel, row and column.
     *
     * @param values the frame, (channels, height, width)
     */
    public Optional<String> firstNonFinite(int year, int frame, MemorySegment values) {
        return NonFiniteValue.find(values, window).map(place -> place.value() + " in " + file(year).path()
            + ", time step " + frame + ", " + file(year).channelText(place.channel()) + ", row " + place.row()
            + ", column " + place.column());
    }

    private synchronized Era5File file(int year) {
        Path path = paths.get(year);
        if (path == null) {
            throw new UserException("There are no data of year " + year + ": the years are " + years()
                + ". Choose another one, or give another --data_dir.");
        }
        Era5File file = open.get(year);
        if (file == null) {
            file = Era5File.open(path, names);
            open.put(year, file);
            file.requireHours(hours);
            CropWindow stored = file.stored();
            if (stored.channels() < window.channels() || stored.height() < window.height()
                || stored.width() < window.width()) {
                throw new UserException("Data file " + path + " has frames of " + stored + ", and the model reads "
                    + window + " (channels x latitudes x longitudes). Use the data that the model was trained on.");
            }
            check.accept(file);
        }
        return file;
    }

    /** Closes all files. No read may be in progress. */
    @Override
    public synchronized void close() {
        open.values().forEach(Era5File::close);
        open.clear();
    }
}
