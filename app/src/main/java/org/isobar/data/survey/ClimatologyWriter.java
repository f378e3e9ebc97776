package org.isobar.data.survey;

import static org.isobar.data.ClimatologyFile.DAYS;
import static org.isobar.data.ClimatologyFile.HOURS;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

import org.isobar.data.ClimatologyFile;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5File;
import org.isobar.data.Hdf5Header;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.FreeSpace;

/**
 * Computes the climatology of years of weather: the mean over years of each hour of each day of the year, smoothed over
 * days by {@link SeasonalWindow}. Works on one band of rows after another, as many rows as fit into the memory for the
 * sums. So each value is read once, in runs of one band, and memory depends neither on the number of files nor on the
 * size of a frame.
 */
public final class ClimatologyWriter {
    private static final long SUM_BYTES = 512L << 20;
    private static final int MOST_YEARS = 64;

    private final YearFiles years;
    private final int framesOfDay;
    private final long sumBytes;

    /**
     * A climatology of all time steps of the files.
     *
     * @param hoursPerFrame hours from one time step to the next, a divisor of 24
     * @throws UserException if it is no divisor of 24, or a file has more time steps than a year
     */
    public ClimatologyWriter(YearFiles years, int hoursPerFrame) {
        this(years, hoursPerFrame, Math.min(SUM_BYTES, Runtime.getRuntime().maxMemory() / 3));
    }

    ClimatologyWriter(YearFiles years, int hoursPerFrame, long sumBytes) {
        if (hoursPerFrame < 1 || HOURS % hoursPerFrame != 0) {
            throw new UserException("The time steps are " + hoursPerFrame
                + " hours apart, which does not divide a day. Set --hours_per_frame to 1, 2, 3, 4, 6, 8, 12 or 24.");
        }
        this.years = years;
        this.sumBytes = sumBytes;
        framesOfDay = HOURS / hoursPerFrame;
        int most = framesOfDay * DAYS;
        for (Era5File file : years.files()) {
            if (file.times() > most) {
                throw new UserException("Data file " + file.path() + " holds " + file.times() + " time steps, but "
                    + DAYS + " days have " + most + " that are " + hoursPerFrame + " hours apart. Set "
                    + "--hours_per_frame to the hours between two time steps, and name files of one year each.");
            }
        }
    }

    /** Number of its times of the day. */
    public int framesOfDay() {
        return framesOfDay;
    }

    /** Size of the file in bytes. */
    public long bytes() {
        return header().capacity() + dataBytes();
    }

    private long dataBytes() {
        return (long) framesOfDay * DAYS * years.stored().bytes();
    }

    /**
     * Writes the climatology.
     *
     * @return the number of its fields that have no data in their window, and are NaN
     * @throws UserException if a file cannot be read or holds a number that is not finite, or if the climatology cannot
     *     be written; then {@code path} is as before
     */
    public int write(Path path, ScanObserver observer) {
        CropWindow stored = years.stored();
        int rows = stored.channels() * stored.height();
        long rowBytes = (long) framesOfDay * DAYS * stored.width() * Double.BYTES;
        int bandRows = Math.clamp(sumBytes / rowBytes, 1, rows);
        requireSpace(path);
        ClimatologyBand band = new ClimatologyBand(years, framesOfDay, bandRows,
            new ScanObserver.Counter(observer, years.frames() * stored.bytes() + dataBytes()));
        new AtomicFile("climatology", path, "--out").write(channel -> {
            ByteBuffer header = header();
            AtomicFile.writeFully(channel, header);
            for (int first = 0; first < rows; first += bandRows) {
                band.read(first, Math.min(first + bandRows, rows));
                band.smooth();
                band.write(channel, header.capacity());
            }
        });
        return band.emptyFields();
    }

    private ByteBuffer header() {
        CropWindow stored = years.stored();
        List<String> labels = years.files().stream().map(ClimatologyWriter::year).toList();
        List<Hdf5Header.Attribute> attributes = labels.size() <= MOST_YEARS
            && labels.stream().allMatch(label -> label.matches("\\p{ASCII}+"))
            ? List.of(new Hdf5Header.Attribute("years", labels)) : List.of(); // no reader needs them
        List<Hdf5Header.Companion> companions = !years.areNamed() ? List.of() : List.of(
            new Hdf5Header.Companion("channel", years.channels().toArray(String[]::new), ""),
            new Hdf5Header.Companion("units", years.units().toArray(String[]::new), ""));
        return Hdf5Header.of(ClimatologyFile.CLIMATOLOGY,
            new long[] {framesOfDay, DAYS, stored.channels(), stored.height(), stored.width()}, attributes, companions);
    }

    /** The last four characters of a file's name before the extension. */
    private static String year(Era5File file) {
        String stem = file.path().getFileName().toString().replaceFirst("\\.[^.]*$", "");
        return stem.substring(Math.max(0, stem.length() - 4));
    }

    private void requireSpace(Path path) {
        Path directory = path.toAbsolutePath().getParent();
        try {
            Files.createDirectories(directory);
            long free = FreeSpace.of(directory);
            if (free < bytes()) {
                throw new UserException(String.format(Locale.ROOT, "The climatology %s needs %.1f GB, but the disk has "
                    + "%.1f GB free. Free space, or choose another disk with --out.", path, bytes() / 1e9, free / 1e9));
            }
        } catch (IOException failure) {
            throw FileFault.unwritable("climatology " + path, "--out", failure);
        }
    }
}
