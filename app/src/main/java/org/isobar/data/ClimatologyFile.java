package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

import org.isobar.data.channels.ChosenChannels;
import org.isobar.fault.UserException;

/**
 * A climatology that is open for reading: data set {@code climatology} [hour of day, day of year, channel, latitude,
 * longitude] of an HDF5 file, contiguous, with 366 days. The file is mapped: memory does not depend on its size.
 * Thread-safe.
 */
public final class ClimatologyFile implements AutoCloseable {
    /** Name of the data set. */
    public static final String CLIMATOLOGY = "climatology";
    /** Days of a year; the last one is that of leap years. */
    public static final int DAYS = 366;
    /** Hours of a day. */
    public static final int HOURS = 24;
    private static final Hdf5Fields.Form FORM = new Hdf5Fields.Form(CLIMATOLOGY,
        List.of("hour of day", "day of year", "channel", "latitude", "longitude"));
    private static final String REMEDY = " Make it again with `isobar data climatology`.";

    private final Hdf5Fields fields;
    private final ChosenChannels choice;
    private final CropWindow stored;
    private final Normalization none;

    private ClimatologyFile(Hdf5Fields fields, List<String> names) {
        this.fields = fields;
        List<String> own = fields.companions().texts(fields.extent(2), "channel", "channels");
        choice = names.isEmpty() ? ChosenChannels.all(own, fields.extent(2))
            : ChosenChannels.of(fields.path(), names, own, fields.extent(2));
        stored = new CropWindow(choice.count(), fields.extent(3), fields.extent(4));
        if (fields.extent(1) != DAYS || HOURS % fields.extent(0) != 0) {
            throw new UserException("Climatology " + fields.path() + " has " + fields.extent(0) + " hours of "
                + fields.extent(1) + " days, expected a divisor of " + HOURS + " hours, and " + DAYS + " days."
                + REMEDY);
        }
        if (!fields.isMapped()) {
            throw new UserException("Climatology " + fields.path() + " is stored in chunks, expected contiguous data."
                + REMEDY);
        }
        none = Normalization.none(stored.channels());
    }

    /**
     * Opens a file and checks that it is a climatology.
     *
     * @throws UserException if it cannot be read, or has another form
     */
    public static ClimatologyFile open(Path path) {
        return open(path, List.of());
    }

    /**
     * Opens some channels of a file and checks that it is a climatology.
     *
     * @param names names of the channels, in the order in which they are numbered here; empty for all, as stored
     * @throws UserException if it cannot be read, has another form, or does not have these channels
     */
    public static ClimatologyFile open(Path path, List<String> names) {
        Hdf5Fields fields = Hdf5Fields.open(path, FORM);
        try {
            return new ClimatologyFile(fields, names);
        } catch (UserException other) {
            fields.close();
            throw other;
        }
    }

    /** Hours between two of its times of the day. */
    public int hoursPerFrame() {
        return HOURS / fields.extent(0);
    }

    /** Extents of the field of one time, with the open channels. */
    public CropWindow stored() {
        return stored;
    }

    /** Names of the channels; empty if the file has none. */
    public List<String> channels() {
        return choice.names();
    }

    /**
     * Reads a window of the field of one time of the year, in physical units, single precision and native byte order.
     *
     * @param hours  hours since 1 January, 0 UTC
     * @param window first channels, latitudes and longitudes to read
     * @param target receives (channels, height, width)
     * @param offset byte offset in {@code target}
     * @throws UserException if the climatology has no such hour, no data for that day, or is smaller than the window;
     *     or if the file cannot be read there
     */
    public void read(int hours, CropWindow window, MemorySegment target, long offset) {
        if (window.channels() > stored.channels() || window.height() > stored.height()
            || window.width() > stored.width()) {
            throw new UserException("Climatology " + fields.path() + " has fields of " + stored
                + ", smaller than the " + window + " needed. Make it from the years that are used here.");
        }
        int day = Math.floorDiv(hours, HOURS);
        int hour = Math.floorMod(hours, HOURS);
        if (day < 0 || day >= DAYS || hour % hoursPerFrame() != 0) {
            throw new UserException("Climatology " + fields.path() + " has a field every " + hoursPerFrame()
                + " hours of " + DAYS + " days, but none for hour " + hours + " of the year."
                + " Make it with the --hours_per_frame of these data.");
        }
        try {
            fields.readMapped((long) hour / hoursPerFrame() * DAYS + day, window, choice.indices(), none, target,
                offset);
            fields.checkLength(day);
        } catch (InternalError fault) { // a mapped page could not be read
            throw fields.unreadable(day, fault);
        }
        if (Float.isNaN(target.get(FloatEncoding.TARGET, offset))) {
            throw new UserException("Climatology " + fields.path() + " has no data for day " + (day + 1)
                + " of the year at " + hour + " UTC. Make it from years that have data around that day.");
        }
    }

    /** Unmaps the file. No read may be in progress. */
    @Override
    public void close() {
        fields.close();
    }
}
