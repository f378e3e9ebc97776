package org.isobar.data.survey;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Dataset;
import org.isobar.data.Era5File;
import org.isobar.data.Era5Frames;
import org.isobar.data.Era5Variable;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/** Year files with the same channels and grid, as far as they name them, open for reading. Reading is thread-safe. */
public final class YearFiles implements AutoCloseable {
    private static final int DEFAULT_HOURS = 6;

    private final List<Era5File> files;

    private YearFiles(List<Era5File> files) {
        this.files = files;
        files.forEach(this::checkExtents);
    }

    /**
     * Opens files and all year files of directories, in the order given.
     *
     * @throws UserException if one cannot be read, is named twice, or has another grid than the first
     */
    public static YearFiles open(List<Path> given) {
        List<Era5File> files = new ArrayList<>();
        try {
            for (Path path : paths(given)) {
                files.add(Era5File.open(path));
            }
            return new YearFiles(files);
        } catch (RuntimeException failure) {
            files.forEach(Era5File::close);
            throw failure;
        }
    }

    /**
     * The files that are given, each directory replaced by its year files.
     *
     * @throws UserException if a directory has none, or a file is named twice
     */
    public static List<Path> paths(List<Path> given) {
        List<Path> paths = new ArrayList<>();
        List<Path> real = new ArrayList<>();
        for (Path path : given) {
            requireYears(path);
            for (Path file : Files.isDirectory(path) ? Era5Dataset.yearFiles(path) : List.of(path)) {
                try {
                    Path target = file.toRealPath();
                    if (real.contains(target)) {
                        throw new UserException("Data file " + file + " is named twice, as " + file + " and as "
                            + paths.get(real.indexOf(target)) + ". Name each file once.");
                    }
                    real.add(target);
                    paths.add(file);
                } catch (IOException failure) {
                    throw FileFault.unreadable("data file " + file, failure);
                }
            }
        }
        return paths;
    }

    private static void requireYears(Path path) {
        String[] files = path.toFile().list((directory, name) -> name.endsWith(".h5"));
        if (files != null && files.length == 0) { // null if it is no directory
            List<Path> parts = Era5Frames.parts(path);
            throw new UserException("Directory " + path + " has no year files (*.h5)" + (parts.contains(path)
                ? ". Name one that has, such as the directory train of a data set."
                : " itself. Name those of " + parts + " that are meant."));
        }
    }

    /** The files, in the order given. */
    public List<Era5File> files() {
        return files;
    }

    /** Extents of a frame of any of the files. */
    public CropWindow stored() {
        return files.getFirst().stored();
    }

    /** Number of time steps of all files. */
    public long frames() {
        return files.stream().mapToLong(Era5File::times).sum();
    }

    /**
     * Hours from one time step to the next.
     *
     * @param given what the user says; empty for what the files say, or six hours if they have no times
     * @throws UserException if the files differ from each other, or from what is given
     */
    public int hoursPerFrame(Optional<Integer> given) {
        Optional<Integer> hours = given;
        for (Era5File file : files) {
            OptionalInt own = file.hoursPerFrame();
            if (own.isPresent() && hours.isPresent() && hours.get() != own.getAsInt()) {
                throw new UserException("Data file " + file.path() + " has a time step every " + own.getAsInt()
                    + " hours, expected " + hours.get() + ". Name files with the same step, or give that of the files "
                    + "as --hours_per_frame.");
            }
            hours = own.isPresent() ? Optional.of(own.getAsInt()) : hours;
        }
        return hours.orElse(DEFAULT_HOURS);
    }

    /** The largest number of rows that one of the files decompresses together. */
    int rowsOfChunk() {
        return files.stream().mapToInt(Era5File::rowsOfChunk).max().orElseThrow();
    }

    /** Whether the channels have names, those in the first file or the tutorial's, and not numbers only. */
    boolean areNamed() {
        return !files.getFirst().channels().isEmpty() || stored().channels() == Era5Variable.COUNT;
    }

    /** Names of the channels: those in the first file, the tutorial's if it has as many, else numbers. */
    public List<String> channels() {
        return labels(files.getFirst().channels(), Era5Variable::label, "channel ");
    }

    /** Units of the channels: those in the first file, the tutorial's if it has as many, else empty texts. */
    public List<String> units() {
        return labels(files.getFirst().units(), Era5Variable::unit, "");
    }

    private List<String> labels(List<String> own, Function<Era5Variable, String> tutorial,
        String numbered) {
        int channels = stored().channels();
        if (own.size() == channels) {
            return own;
        }
        if (channels == Era5Variable.COUNT) {
            return List.of(Era5Variable.values()).stream().map(tutorial).toList();
        }
        return IntStream.range(0, channels).mapToObj(c -> numbered.isEmpty() ? "" : numbered + c).toList();
    }

    /**
     * Checks that some rows of a frame are finite.
     *
     * @param path     of its file, for messages
     * @param names    of the channels, for messages
     * @param stored   extents of the frame
     * @param firstRow the first row, counted over all channels
     * @throws UserException with the place of the first number that is not finite
     */
    static void requireFinite(Path path, RowReader reader, CropWindow stored, IntFunction<String> names, int time,
        int firstRow, int rows) {
        float[] row = new float[stored.width()];
        for (int r = firstRow; r < firstRow + rows; r++) {
            reader.readRows(time, r, 1, MemorySegment.ofArray(row), 0);
            for (int i = 0; i < row.length; i++) {
                if (!Float.isFinite(row[i])) {
                    int channel = r / stored.height();
                    throw new UserException("Data file " + path + " holds " + row[i] + " at time step " + time
                        + ", " + names.apply(channel) + ", row " + r % stored.height() + ", column "
                        + i + ". Replace such values, or leave out the file.");
                }
            }
        }
    }

    private void checkExtents(Era5File file) {
        CropWindow extents = file.stored();
        if (extents.elements() > Integer.MAX_VALUE || extents.elements() < 1) {
            throw new UserException("Data file " + file.path() + " has frames of " + extents
                + " values, and at most " + Integer.MAX_VALUE + " values can be read. Split the channels.");
        }
        if (!extents.equals(stored())) {
            throw new UserException("Data file " + file.path() + " has frames of " + extents + ", but "
                + files.getFirst().path() + " has frames of " + stored() + ". Name files of one grid only.");
        }
        List<String> names = file.channels();
        if (!names.isEmpty() && !files.getFirst().channels().isEmpty() && !names.equals(files.getFirst().channels())) {
            throw new UserException("Data file " + file.path() + " has the channels " + names + ", but "
                + files.getFirst().path() + " has " + files.getFirst().channels()
                + ". Name files of the same channels only.");
        }
        Era5File first = files.getFirst();
        file.requireGrid(first.latitudes(), first.longitudes(), Era5File.SAME_PLACE, first.path().toString());
    }

    /** Closes the files. No read may be in progress. */
    @Override
    public void close() {
        files.forEach(Era5File::close);
    }
}
