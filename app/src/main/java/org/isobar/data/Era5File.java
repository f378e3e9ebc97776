package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;

import org.isobar.data.channels.ChosenChannels;
import org.isobar.fault.UserException;
import org.isobar.os.PageCache;

/**
 * Reads one year of weather from an HDF5 file with a data set {@code fields} [time, channel, latitude, longitude] of
 * 32- or 64-bit floating-point numbers in either byte order. Contiguous data is memory-mapped and read in place;
 * chunked (and compressed) data is decompressed by jHDF, chunk by chunk. Reading is thread-safe.
 *
 * <p>A file must not shrink while it is open. To replace data under a running job, move new files into place instead of
 * copying over the old ones.
 */
public final class Era5File implements AutoCloseable {
    /** Name of the data set. */
    public static final String FIELDS = "fields";
    /** Most grid cells between coordinates of one place: they may be rounded to single precision or a few decimals. */
    public static final double SAME_PLACE = 0.01;
    /** The data set and its dimensions. */
    static final Hdf5Fields.Form FORM =
        new Hdf5Fields.Form(FIELDS, List.of("time", "channel", "latitude", "longitude"));

    private final Hdf5Fields fields;
    private final FloatEncoding encoding;
    private final int times;
    private final ChosenChannels choice;
    private final CropWindow stored;

    private Era5File(Hdf5Fields fields, List<String> names) {
        this.fields = fields;
        encoding = fields.encoding();
        times = fields.extent(0);
        List<String> own = fields.companions().texts(fields.extent(1), "channel", "channels");
        choice = names.isEmpty() ? ChosenChannels.all(own, fields.extent(1)) : ChosenChannels.of(fields.path(), names,
            own.isEmpty() ? Era5Variable.names(fields.extent(1)) : own, fields.extent(1));
        stored = new CropWindow(choice.count(), fields.extent(2), fields.extent(3));
    }

    /**
     * Opens a file and checks that its data set {@code fields} can be read.
     *
     * @throws UserException if the file or the data set cannot be read
     */
    public static Era5File open(Path path) {
        return open(path, List.of());
    }

    /**
     * Opens some channels of a file. A file without names that has as many channels as the tutorial's has the
     * tutorial's.
     *
     * @param names names of the channels, in the order in which they are numbered here; empty for all, as stored
     * @throws UserException if the file or the data set cannot be read, or does not have these channels
     */
    public static Era5File open(Path path, List<String> names) {
        Hdf5Fields fields = Hdf5Fields.open(path, FORM);
        try {
            return new Era5File(fields, names);
        } catch (UserException missing) {
            fields.close();
            throw missing;
        }
    }

    /** Path of the file. */
    public Path path() {
        return fields.path();
    }

    /** Number of time steps. */
    public int times() {
        return times;
    }

    /** Names of the channels; empty if the file has no name for each. */
    public List<String> channels() {
        return choice.names();
    }

    /** The channels of the file that are open. */
    public ChosenChannels choice() {
        return choice;
    }

    /** A channel's place in the file, and its name. */
    public String channelText(int channel) {
        return choice.names().isEmpty() ? NonFiniteValue.channelName(channel) : choice.text(channel);
    }

    /** Units of the channels; empty if the file has no unit for each. */
    public List<String> units() {
        List<String> all = fields.companions().texts(choice.stored(), "units");
        return all.isEmpty() ? all : IntStream.of(choice.indices()).mapToObj(all::get).toList();
    }

    /** Degrees north of the rows, if the file has them. */
    public Optional<double[]> latitudes() {
        return fields.companions().numbers("lat", stored.height());
    }

    /** Degrees east of the columns, if the file has them. */
    public Optional<double[]> longitudes() {
        return fields.companions().numbers("lon", stored.width());
    }

    /**
     * Checks that rows and columns lie where those of other data do, as far as both have coordinates.
     *
     * @param lats  degrees north of the other data's first rows, if they are known
     * @param lons  degrees east of their first columns, if they are known
     * @param cells grid cells that a place may be off
     * @param other what the other data are, for the message
     * @throws UserException with the first row or column that lies elsewhere
     */
    public void requireGrid(Optional<double[]> lats, Optional<double[]> lons, double cells, String other) {
        lats.flatMap(others -> latitudes().flatMap(own ->
                Hdf5Companions.displaced("latitude", "row", own, others, cells, other)))
            .or(() -> lons.flatMap(others -> longitudes().flatMap(own ->
                Hdf5Companions.displaced("longitude", "column", own, others, cells, other))))
            .ifPresent(place -> {
                throw new UserException("Data file " + path() + " has " + place + ". Use data on the same grid.");
            });
    }

    /**
     * Hours from one time step to the next; empty if the file has no times, or only one.
     *
     * @throws UserException if the file's times are not equal steps of whole hours from the beginning of its year
     */
    public OptionalInt hoursPerFrame() {
        return YearTimes.hours(path(), fields.companions(), times);
    }

    /** The time of a frame of the year in the file's name. */
    LocalDateTime time(int frame, int hoursPerFrame) {
        return YearTimes.time(YearTimes.year(path()).orElseThrow(), frame, hoursPerFrame);
    }

    /**
     * Checks that the file has a time step every {@code hours} hours, if it has times.
     *
     * @throws UserException if it has not
     */
    void requireHours(int hours) {
        int own = hoursPerFrame().orElse(hours);
        if (own != hours) {
            throw new UserException("Data file " + path() + " has a time step every " + own + " hours, expected "
                + hours + ". Set hours_per_frame to " + own + " if all files have that step, or use other data.");
        }
    }

    /**
     * Checks that each frame holds a window.
     *
     * @throws UserException if it is smaller
     */
    void requireHolds(CropWindow window) {
        if (stored.height() < window.height() || stored.width() < window.width()) {
            throw new UserException("Data file " + path() + " holds images of " + stored.height() + " x "
                + stored.width() + ", smaller than the configured img_size of " + window.height() + " x "
                + window.width() + ". Lower img_size, or use other data.");
        }
    }

    /** Extents of one frame of the open channels. */
    public CropWindow stored() {
        return stored;
    }

    /**
     * Reads a normalized window of the frame at {@code time}, in single precision and native byte order.
     *
     * @param target receives (channels, height, width)
     * @param offset byte offset in {@code target}
     * @throws UserException if the file cannot be read there: it has become shorter, the disk has failed, or a chunk
     *     cannot be decompressed
     */
    public void read(int time, CropWindow window, Normalization normalization, MemorySegment target, long offset) {
        try {
            if (fields.isMapped()) {
                fields.readMapped(time, window, choice.indices(), normalization, target, offset);
            } else {
                readChunks(time, window, normalization, target, offset);
            }
            fields.checkLength(time);
        } catch (InternalError fault) { // a mapped page could not be read
            throw fields.unreadable(time, fault);
        }
    }

    /**
     * Reads consecutive rows of the frame at {@code time} as they are stored, in single precision and native byte
     * order. Rows are counted over all channels, which must all be open: row j of channel c has the number
     * {@code c * height + j}.
     *
     * @param target receives (rows, width)
     * @param offset byte offset in {@code target}
     * @throws UserException as {@link #read} does
     */
    public void readRows(int time, int firstRow, int rows, MemorySegment target, long offset) {
        assert choice.count() == choice.stored() : "channels were chosen";
        try {
            if (fields.isMapped()) {
                long from = ((long) time * stored.channels() * stored.height() + firstRow) * stored.width();
                encoding.normalize(fields.mapped(), from * encoding.bytes(), (long) rows * stored.width(), 0, 1, target,
                    offset);
            } else {
                readRowsOfChunks(time, firstRow, rows, target, offset);
            }
            fields.checkLength(time);
        } catch (InternalError fault) { // a mapped page could not be read
            throw fields.unreadable(time, fault);
        }
    }

    /** Number of rows that {@link #readRows} decompresses together; 1 if the data is not in chunks. */
    public int rowsOfChunk() {
        return fields.isMapped() ? 1 : Math.min(stored.height(), fields.chunkExtents()[2]);
    }

    /**
     * Tells the kernel to read the data of {@link #read} into the page cache. Returns without waiting for the disk.
     * Does nothing for chunked data.
     */
    public void willNeed(int time, CropWindow window) {
        if (!fields.isMapped()) {
            return;
        }
        long rowBytes = (long) stored.width() * encoding.bytes();
        long first = (long) time * choice.stored() * stored.height();
        int[] indices = choice.indices();
        boolean wholeChannels = window.height() == stored.height();
        int next;
        for (int c = 0; c < window.channels(); c = next) { // whole channels that follow each other are one run
            next = c + 1;
            while (wholeChannels && next < window.channels() && indices[next] == indices[next - 1] + 1) {
                next++;
            }
            long run = (long) (next - c - 1) * stored.height() + window.height();
            PageCache.willNeed(fields.mapped(), (first + (long) indices[c] * stored.height()) * rowBytes,
                run * rowBytes);
        }
    }

    /**
     * Reads chunk by chunk and decompresses each chunk once. A chunk at the edge of the data set is stored in full; the
     * part outside is skipped.
     */
    private void readChunks(int time, CropWindow window, Normalization normalization, MemorySegment target,
        long offset) {
        int[] size = fields.chunkExtents(); // (time, channel, row, column)
        int firstTime = time / size[0] * size[0];
        int[] firstChannels = IntStream.of(choice.indices()).limit(window.channels()).map(c -> c / size[1] * size[1])
            .distinct().toArray();
        for (int c : firstChannels) {
            for (int j = 0; j < window.height(); j += size[2]) {
                for (int i = 0; i < window.width(); i += size[3]) {
                    int[] start = {firstTime, c, j, i};
                    readChunk(fields.decompress(start), start, time, window, normalization, target, offset);
                }
            }
        }
    }

    private void readChunk(MemorySegment chunk, int[] start, int time, CropWindow window,
                           Normalization normalization, MemorySegment target, long offset) {
        int[] indices = choice.indices();
        int channels = fields.chunkExtents()[1];
        for (int c = 0; c < window.channels(); c++) {
            if (indices[c] >= start[1] && indices[c] < start[1] + channels) {
                readChannel(chunk, start, time, c, window, normalization, target, offset);
            }
        }
    }

    private void readChannel(MemorySegment chunk, int[] start, int time, int c, CropWindow window,
                             Normalization normalization, MemorySegment target, long offset) {
        int[] size = fields.chunkExtents();
        int height = Math.min(size[2], window.height() - start[2]);
        int width = Math.min(size[3], window.width() - start[3]);
        boolean wholeRows = width == size[3] && width == window.width();
        long run = wholeRows ? (long) height * width : width;
        long first = ((long) (time - start[0]) * size[1] + choice.indices()[c] - start[1]) * size[2];
        for (int j = 0; j < (wholeRows ? 1 : height); j++) {
            long to = ((long) c * window.height() + start[2] + j) * window.width() + start[3];
            encoding.normalize(chunk, (first + j) * size[3] * encoding.bytes(), run, normalization.means()[c],
                normalization.spreads()[c], target, offset + to * Float.BYTES);
        }
    }

    /** Decompresses each chunk that has one of the rows, and copies these rows. */
    private void readRowsOfChunks(int time, int firstRow, int rows, MemorySegment target, long offset) {
        int[] size = fields.chunkExtents();
        int height = stored.height();
        int lastRow = firstRow + rows - 1;
        for (int c = firstRow / height / size[1] * size[1]; c <= lastRow / height; c += size[1]) {
            for (int j = 0; j < height; j += size[2]) {
                for (int i = 0; i < stored.width() && hasRow(c, j, firstRow, lastRow); i += size[3]) {
                    int[] start = {time / size[0] * size[0], c, j, i};
                    readRowsOfChunk(fields.decompress(start), start, time, firstRow, rows, target, offset);
                }
            }
        }
    }

    /** Whether the chunks that begin at channel {@code c} and latitude {@code j} have one of the rows. */
    private boolean hasRow(int c, int j, int firstRow, int lastRow) {
        int[] size = fields.chunkExtents();
        return IntStream.range(c, Math.min(c + size[1], stored.channels()))
            .map(channel -> channel * stored.height() + j)
            .anyMatch(row -> row <= lastRow && row + Math.min(size[2], stored.height() - j) > firstRow);
    }

    private void readRowsOfChunk(MemorySegment chunk, int[] start, int time, int firstRow, int rows,
                                 MemorySegment target, long offset) {
        int[] size = fields.chunkExtents();
        long run = Math.min(size[3], stored.width() - start[3]);
        for (int c = start[1]; c < Math.min(start[1] + size[1], stored.channels()); c++) {
            for (int j = start[2]; j < Math.min(start[2] + size[2], stored.height()); j++) {
                int row = c * stored.height() + j - firstRow;
                if (row >= 0 && row < rows) {
                    long from = (((long) (time - start[0]) * size[1] + c - start[1]) * size[2] + j - start[2])
                        * size[3];
                    long to = offset + ((long) row * stored.width() + start[3]) * Float.BYTES;
                    encoding.normalize(chunk, from * encoding.bytes(), run, 0, 1, target, to);
                }
            }
        }
    }

    /** Unmaps or closes the file. No read may be in progress. */
    @Override
    public void close() {
        fields.close();
    }
}
