package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;
import java.util.function.Supplier;

import org.isobar.data.ClimatologyFile;
import org.isobar.data.CropWindow;
import org.isobar.data.NpyFile;
import org.isobar.data.channels.ChosenChannels;
import org.isobar.fault.UserException;

/** Supplies the climatology of a time. Thread-safe. */
public interface ClimatologyFields extends AutoCloseable {
    /**
     * Writes the climatology of a valid time, (Cout, H, W), floats in the units of the data.
     *
     * @throws UserException if there is none for that time
     */
    void read(LocalDateTime time, MemorySegment target);

    /** Whether it is the same at all times. */
    boolean isConstant();

    /** What it is, for the definitions of the scores. */
    String description();

    @Override
    default void close() { }

    /**
     * Opens a file: one whose name ends in {@code .npy} as {@link #timeMeans}, any other as a climatology of
     * {@code isobar data climatology}.
     *
     * @param window the channels, rows and columns that are used, the first of each
     * @throws UserException if the file cannot be read, is no climatology, or is smaller than the window
     */
    static ClimatologyFields open(Path path, CropWindow window) {
        return path.toString().endsWith(".npy") ? timeMeans(path, window) : byDay(path, window, List.of());
    }

    /**
     * Opens a file as {@link #open(Path, CropWindow)} does, for channels that are chosen by name. A NumPy array has
     * all channels of the first training file, in its order.
     *
     * @param names    of the window's channels
     * @param training called for a NumPy array; returns the window's channels in the first training file
     * @throws UserException as the other method does, or if the climatology does not have these channels
     */
    static ClimatologyFields open(Path path, CropWindow window, List<String> names, Supplier<ChosenChannels> training) {
        return path.toString().endsWith(".npy") ? timeMeans(path, window, training.get())
            : byDay(path, window, names);
    }

    private static ClimatologyFields byDay(Path path, CropWindow window, List<String> names) {
        ClimatologyFile file = ClimatologyFile.open(path, names);
        return new ClimatologyFields() {
            @Override
            public void read(LocalDateTime time, MemorySegment target) {
                LocalDateTime newYear = LocalDate.of(time.getYear(), 1, 1).atStartOfDay();
                file.read(Math.toIntExact(Duration.between(newYear, time).toHours()), window, target, 0);
            }

            @Override
            public boolean isConstant() {
                return false;
            }

            @Override
            public String description() {
                return "mean by hour of day and day of year, of " + path;
            }

            @Override
            public void close() {
                file.close();
            }
        };
    }

    /**
     * The means over time of FourCastNet's statistics: element [0] of an array (1 or more, C, H, W) in physical units,
     * the same at all times.
     *
     * @param window the channels, rows and columns that are used, the first of each
     * @throws UserException if the file cannot be read, or is smaller than the window
     */
    static ClimatologyFields timeMeans(Path path, CropWindow window) {
        return timeMeans(path, window, ChosenChannels.all(List.of(), window.channels()));
    }

    private static ClimatologyFields timeMeans(Path path, CropWindow window, ChosenChannels channels) {
        NpyFile file = NpyFile.read(path);
        long[] extents = file.shape().extents();
        if (extents.length != 4 || extents[1] < channels.stored() || extents[2] < window.height()
                || extents[3] < window.width()) {
            throw new UserException("Climatology " + path + " has shape " + file.shape() + ", expected [1, C, H, W] "
                + "with at least " + new CropWindow(channels.stored(), window.height(), window.width())
                + " (channels x latitudes x longitudes). Give another one with --climatology.");
        }
        float[] means = new float[Math.toIntExact(window.bytes() / Float.BYTES)];
        int width = window.width();
        for (int row = 0; row < means.length / width; row++) {
            long channel = channels.indices()[row / window.height()];
            long from = (channel * extents[2] + row % window.height()) * extents[3];
            for (int column = 0; column < width; column++) {
                means[row * width + column] = (float) file.values()[(int) from + column];
            }
        }
        return new ClimatologyFields() {
            @Override
            public void read(LocalDateTime time, MemorySegment target) {
                MemorySegment.copy(means, 0, target, ValueLayout.JAVA_FLOAT, 0, means.length);
            }

            @Override
            public boolean isConstant() {
                return true;
            }

            @Override
            public String description() {
                return "mean over time, the same at all times, of " + path;
            }
        };
    }
}
