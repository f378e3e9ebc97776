package org.isobar.data;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;

import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.Group;
import io.jhdf.api.Link;
import io.jhdf.api.Node;
import io.jhdf.api.dataset.ChunkedDataset;
import io.jhdf.api.dataset.ContiguousDataset;
import io.jhdf.exceptions.UnsupportedHdfException;
import io.jhdf.links.ExternalLink;
import io.jhdf.object.datatype.FloatingPoint;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
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
    /** Most bytes of a chunk, which jHDF decompresses into an array. */
    private static final long LARGEST_CHUNK = Integer.MAX_VALUE - 8;

    private final Path path;
    private final int[] extents;
    private final FloatEncoding encoding;
    private final Arena mapping = Arena.ofShared();
    private final WatchedFile file;
    private HdfFile hdf; // null if the data is mapped
    private ChunkedDataset chunked; // null if the data is mapped
    private MemorySegment mapped; // null if the data is chunked

    private Era5File(Path path, WatchedFile file, HdfFile hdf) throws IOException {
        this.path = path;
        this.file = file;
        Dataset fields = fields(path, hdf);
        this.extents = fields.getDimensions();
        this.encoding = encoding(path, fields);
        long bytes = bytes(path, extents, encoding.bytes());
        if (fields instanceof ContiguousDataset contiguous) {
            mapped = map(hdf.getUserBlockSize(), contiguous, bytes);
            hdf.close();
        } else if (fields instanceof ChunkedDataset inChunks) {
            checkChunks(path, inChunks.getChunkDimensions(), encoding.bytes());
            this.hdf = hdf;
            chunked = inChunks;
        } else {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " has the layout "
                + fields.getDataLayout() + ". Store it contiguous or chunked.");
        }
    }

    /**
     * Opens a file and checks that its data set {@code fields} can be read.
     *
     * @throws UserException if the file or the data set cannot be read
     */
    @SuppressWarnings("resource") // closed here on failure, otherwise kept or closed by the new object
    public static Era5File open(Path path) {
        WatchedFile file = null;
        HdfFile hdf = null;
        try {
            file = WatchedFile.open(path);
            hdf = new HdfFile(path);
            return new Era5File(path, file, hdf);
        } catch (IOException failure) {
            close(file, hdf);
            throw FileFault.unreadable("data file " + path, failure);
        } catch (UserException known) {
            close(file, hdf);
            throw known;
        } catch (RuntimeException refused) { // jHDF: HdfException, but also buffer underflows in damaged files
            close(file, hdf);
            throw refusal(path, refused);
        }
    }

    /** Path of the file. */
    public Path path() {
        return path;
    }

    /** Number of time steps. */
    public int times() {
        return extents[0];
    }

    /** Extents of one stored frame. */
    public CropWindow stored() {
        return new CropWindow(extents[1], extents[2], extents[3]);
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
            if (mapped != null) {
                readMapped(time, window, normalization, target, offset);
            } else {
                readChunks(time, window, normalization, target, offset);
            }
            file.checkLength(time);
        } catch (InternalError fault) { // a mapped page could not be read
            throw file.unreadable(time, fault);
        }
    }

    /**
     * Tells the kernel to read the data of {@link #read} into the page cache. Returns without waiting for the disk.
     * Does nothing for chunked data.
     */
    void willNeed(int time, CropWindow window) {
        if (mapped == null) {
            return;
        }
        long rowBytes = (long) extents[3] * encoding.bytes();
        long first = (long) time * extents[1] * extents[2];
        boolean wholeChannels = window.height() == extents[2];
        long run = wholeChannels ? (long) window.channels() * extents[2] : window.height();
        for (int c = 0; c < (wholeChannels ? 1 : window.channels()); c++) {
            PageCache.willNeed(mapped, (first + (long) c * extents[2]) * rowBytes, run * rowBytes);
        }
    }

    private void readMapped(int time, CropWindow window, Normalization normalization, MemorySegment target,
        long offset) {
        long rowBytes = (long) extents[3] * encoding.bytes();
        long channelBytes = extents[2] * rowBytes;
        boolean wholeRows = window.width() == extents[3];
        long run = wholeRows ? (long) window.height() * window.width() : window.width();
        int runs = wholeRows ? 1 : window.height();
        long to = offset;
        for (int c = 0; c < window.channels(); c++) {
            long from = ((long) time * extents[1] + c) * channelBytes;
            for (int j = 0; j < runs; j++) {
                encoding.normalizeMapped(mapped, from + j * rowBytes, run,
                    normalization.means()[c], normalization.spreads()[c], target, to);
                to += run * Float.BYTES;
            }
        }
    }

    /**
     * Reads chunk by chunk and decompresses each chunk once. A chunk at the edge of the data set is stored in full; the
     * part outside is skipped.
     */
    private void readChunks(int time, CropWindow window, Normalization normalization, MemorySegment target,
        long offset) {
        int[] size = chunked.getChunkDimensions(); // (time, channel, row, column)
        int firstTime = time / size[0] * size[0];
        for (int c = 0; c < window.channels(); c += size[1]) {
            for (int j = 0; j < window.height(); j += size[2]) {
                for (int i = 0; i < window.width(); i += size[3]) {
                    int[] start = {firstTime, c, j, i};
                    readChunk(decompress(start), start, time, window, normalization, target, offset);
                }
            }
        }
    }

    private void readChunk(MemorySegment chunk, int[] start, int time, CropWindow window,
                           Normalization normalization, MemorySegment target, long offset) {
        int[] size = chunked.getChunkDimensions();
        long run = Math.min(size[3], window.width() - start[3]);
        for (int c = start[1]; c < Math.min(start[1] + size[1], window.channels()); c++) {
            for (int j = start[2]; j < Math.min(start[2] + size[2], window.height()); j++) {
                long from = (((long) (time - start[0]) * size[1] + c - start[1]) * size[2] + j - start[2]) * size[3];
                long to = offset + (((long) c * window.height() + j) * window.width() + start[3]) * Float.BYTES;
                boolean inPlace = encoding.bytes() == Float.BYTES;
                if (inPlace) { // vectors loaded from a byte array are heap objects, at about half the speed
                    MemorySegment.copy(chunk, from * Float.BYTES, target, to, run * Float.BYTES);
                }
                encoding.normalize(inPlace ? target : chunk, inPlace ? to : from * encoding.bytes(), run,
                    normalization.means()[c], normalization.spreads()[c], target, to);
            }
        }
    }

    /**
     * Decompresses the chunk that begins at the given element into a new array; jHDF cannot fill an existing one. Needs
     * no lock: jHDF itself decompresses the chunks of a data set in parallel when it reads all of it.
     */
    private MemorySegment decompress(int[] start) {
        byte[] chunk;
        try {
            chunk = chunked.getDecompressedChunk(start);
        } catch (RuntimeException damaged) {
            throw damagedChunk(start, damaged.getMessage(), damaged);
        }
        long expected = bytes(path, chunked.getChunkDimensions(), encoding.bytes());
        if (chunk.length < expected) {
            throw damagedChunk(start, "the chunk has " + chunk.length + " bytes of " + expected, null);
        }
        return MemorySegment.ofArray(chunk);
    }

    private UserException damagedChunk(int[] start, String reason, Throwable cause) {
        return new UserException("Data file " + path + " cannot be read at element " + Arrays.toString(start) + " ("
            + reason + "). It is damaged or incomplete, or uses a filter that jHDF does not support. Make it again, "
            + "with gzip or without compression.", cause);
    }

    /** Unmaps or closes the file. No read may be in progress. */
    @Override
    public void close() {
        mapping.close();
        close(file, hdf);
    }

    private static void close(WatchedFile file, HdfFile hdf) {
        if (hdf != null) {
            hdf.close();
        }
        if (file != null) {
            file.close();
        }
    }

    /** Converts an exception of jHDF; the first cause says more than the exceptions around it. */
    private static UserException refusal(Path path, RuntimeException refused) {
        Throwable cause = refused;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        String reason = " (" + (cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage())
            + "). ";
        String finding = switch (cause) {
            case UnsupportedHdfException _ -> " uses a feature of HDF5 that Isobar cannot read" + reason
                + "Copy '" + FIELDS + "' into a file of its own, contiguous or chunked.";
            case ArithmeticException _ -> " is damaged, or has a data set with an extent of more than "
                + Integer.MAX_VALUE + reason + "Make it again, or move it out of the directory.";
            default -> " is not an HDF5 file or is damaged" + reason
                + "Copy or make it again, or move it out of the directory.";
        };
        return new UserException("Data file " + path + finding, refused);
    }

    private static Dataset fields(Path path, HdfFile hdf) {
        Node node = hdf.getChildren().get(FIELDS);
        if (!(node instanceof Dataset fields)) {
            throw new UserException("Data file " + path + notFields(node, hdf.getChildren().keySet()));
        }
        int[] extents = fields.getDimensions();
        if (extents.length != 4) {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " has shape "
                + Arrays.toString(extents) + ", expected [time, channel, latitude, longitude]. Reshape it.");
        }
        if (Arrays.stream(extents).anyMatch(extent -> extent == 0)) {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " is empty: its shape is "
                + Arrays.toString(extents) + ". Write the weather to it, or move the file out of the directory.");
        }
        return fields;
    }

    /** What a file has in the place of the data set, and what to do. Links are not resolved. */
    private static String notFields(Node node, Set<String> names) {
        return switch (node) {
            case null -> " has no data set '" + FIELDS + "' (it has: " + String.join(", ", names)
                + "). Store the weather as [time, channel, latitude, longitude] under that name.";
            case ExternalLink link -> ": '" + FIELDS + "' is an external link to " + link.getTargetPath()
                + ", and links are not followed. Use the file with the data set itself.";
            case Link link -> ": '" + FIELDS + "' is a soft link to " + link.getTargetPath()
                + ", and links are not followed. Give that data set the name '" + FIELDS + "'.";
            case Group group -> ": '" + FIELDS + "' is a group (it has: "
                + String.join(", ", group.getChildren().keySet())
                + "). Store the weather as one data set [time, channel, latitude, longitude] under that name.";
            default -> ": '" + FIELDS + "' is not a data set but a data type. Store the weather as [time, channel, "
                + "latitude, longitude] under that name.";
        };
    }

    /** Size of the data set in bytes. */
    private static long bytes(Path path, int[] extents, int elementBytes) {
        try {
            return Arrays.stream(extents).asLongStream().reduce(elementBytes, Math::multiplyExact);
        } catch (ArithmeticException overflow) {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " has shape " + Arrays.toString(extents)
                + ", which is more than 2^63 bytes. Make the file again, or move it out of the directory.", overflow);
        }
    }

    private static void checkChunks(Path path, int[] chunk, int elementBytes) {
        boolean valid = chunk.length == 4 && Arrays.stream(chunk).allMatch(extent -> extent > 0);
        if (!valid || bytes(path, chunk, elementBytes) > LARGEST_CHUNK) {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " has chunks of shape "
                + Arrays.toString(chunk) + ". Make the file again, with four-dimensional chunks of less than 2 GiB.");
        }
    }

    private static FloatEncoding encoding(Path path, Dataset fields) {
        int size = fields.getDataType().getSize();
        if (!(fields.getDataType() instanceof FloatingPoint type) || size != 4 && size != 8
            || type.getMantissaSize() != (size == 4 ? 23 : 52)) {
            throw new UserException("Data set '" + FIELDS + "' of " + path + " holds "
                + fields.getDataType().getClass().getSimpleName() + " values of " + size
                + " bytes, expected 32- or 64-bit floating-point numbers. Convert it to float32.");
        }
        return FloatEncoding.of(size, type.getByteOrder());
    }

    private MemorySegment map(long userBlock, ContiguousDataset fields, long bytes) throws IOException {
        long address = fields.getDataAddress() + userBlock;
        if (fields.getDataAddress() < 0) {
            throw new UserException("Data set '" + FIELDS + "' of " + path
                + " was declared but never written. Make the file again.");
        }
        if (file.length() - address < bytes) {
            throw new UserException("Data file " + path + " is cut off: '" + FIELDS + "' of shape "
                + Arrays.toString(extents) + " begins at byte " + address + " and has " + bytes
                + " bytes, the file has " + file.length() + ". Copy or make it again.");
        }
        return file.map(address, bytes, mapping);
    }
}
