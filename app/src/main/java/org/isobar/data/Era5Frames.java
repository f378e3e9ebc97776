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
import java.util.stream.Stream;

import org.isobar.fault.UserException;

/**
 * The frames of all years of a data set, by year and time step. A year file is opened when it is first read. Reading is
 * thread-safe.
 */
public final class Era5Frames implements AutoCloseable {
    /** Hours between two frames. Frame i of a year lies i times as many hours after the beginning of 1 January. */
    public static final int HOURS = 6;
    private static final int YEAR_DIGITS = 4;

    private final SortedMap<Integer, Path> paths;
    private final Map<Integer, Era5File> open = new HashMap<>();
    private final CropWindow window;

    private Era5Frames(SortedMap<Integer, Path> paths, CropWindow window) {
        this.paths = paths;
        this.window = window;
    }

    /**
     * Finds the year files of a directory, or those of its {@code train}, {@code valid} and {@code test}.
     *
     * @param window the part of each frame that is read
     * @throws UserException if there are none, a name does not end in a year, or two files have the same year
     */
    public static Era5Frames of(Path directory, CropWindow window) {
        List<Path> parts = Stream.of("train", "valid", "test").map(directory::resolve).filter(Files::isDirectory)
            .toList();
        SortedMap<Integer, Path> paths = new TreeMap<>();
        for (Path part : parts.isEmpty() ? List.of(directory) : parts) {
            for (Path path : Era5Dataset.yearFiles(part)) {
                Path other = paths.put(year(path), path);
                if (other != null) {
                    throw new UserException("Data files " + other + " and " + path + " are of the same year. Give the "
                        + "directory of one of them, or move the other out of it.");
                }
            }
        }
        return new Era5Frames(paths, window);
    }

    private static int year(Path path) {
        String name = path.getFileName().toString();
        int end = name.length() - ".h5".length();
        return Integer.parseInt(name.substring(Math.max(0, end - YEAR_DIGITS), end));
    }

    /** The years that have a file. */
    public SortedSet<Integer> years() {
        return new TreeSet<>(paths.keySet());
    }

    /** The part of each frame that is read. */
    public CropWindow window() {
        return window;
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

    /**
     * The first NaN or infinity of a frame that {@link #read} has read: file, time step, channel, row and column.
     *
     * @param values the frame, (channels, height, width)
     */
    public Optional<String> firstNonFinite(int year, int frame, MemorySegment values) {
        return NonFiniteValue.find(values, window).map(place -> place.value() + " in " + file(year).path()
            + ", time step " + frame + ", " + NonFiniteValue.channelName(place.channel()) + ", row " + place.row()
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
            file = Era5File.open(path);
            open.put(year, file);
            CropWindow stored = file.stored();
            if (stored.channels() < window.channels() || stored.height() < window.height()
                || stored.width() < window.width()) {
                throw new UserException("Data file " + path + " has frames of " + stored + ", and the model reads "
                    + window + " (channels x latitudes x longitudes). Use the data that the model was trained on.");
            }
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
