package org.isobar.data;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
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

/**
 * A data set of 32- or 64-bit floating-point numbers in an HDF5 file, which is open for reading. Contiguous data is
 * memory-mapped; chunked (and compressed) data is decompressed by jHDF, chunk by chunk. Thread-safe.
 */
final class Hdf5Fields implements AutoCloseable {
    /** Most bytes of a chunk, which jHDF decompresses into an array. */
    private static final long LARGEST_CHUNK = Integer.MAX_VALUE - 8;

    private final Path path;
    private final Form form;
    private final int[] extents;
    private final FloatEncoding encoding;
    private final Arena mapping = Arena.ofShared();
    private final WatchedFile file;
    private final Hdf5Companions companions;
    private HdfFile hdf; // null if the data is mapped
    private ChunkedDataset chunked; // null if the data is mapped
    private MemorySegment mapped; // null if the data is chunked

    /**
     * The data set that is expected in a file.
     *
     * @param name       its name in the root group
     * @param dimensions its dimensions, outermost first
     */
    record Form(String name, List<String> dimensions) { }

    private Hdf5Fields(Path path, Form form, WatchedFile file, HdfFile hdf) throws IOException {
        this.path = path;
        this.form = form;
        this.file = file;
        Dataset fields = dataset(hdf);
        extents = fields.getDimensions();
        encoding = encoding(fields);
        companions = Hdf5Companions.of(hdf.getChildren(), fields);
        long bytes = bytes(extents);
        if (fields instanceof ContiguousDataset contiguous) {
            mapped = map(hdf.getUserBlockSize(), contiguous, bytes);
            hdf.close();
        } else if (fields instanceof ChunkedDataset inChunks) {
            checkChunks(inChunks.getChunkDimensions());
            this.hdf = hdf;
            chunked = inChunks;
        } else {
            throw new UserException(subject() + " has the layout " + fields.getDataLayout()
                + ". Store it contiguous or chunked.");
        }
    }

    /**
     * Opens a file and checks that its data set can be read.
     *
     * @throws UserException if the file or the data set cannot be read
     */
    @SuppressWarnings("resource") // closed here on failure, otherwise kept or closed by the new object
    static Hdf5Fields open(Path path, Form form) {
        WatchedFile file = null;
        HdfFile hdf = null;
        try {
            file = WatchedFile.open(path);
            hdf = new HdfFile(path);
            return new Hdf5Fields(path, form, file, hdf);
        } catch (IOException failure) {
            close(file, hdf);
            throw FileFault.unreadable("data file " + path, failure);
        } catch (UserException known) {
            close(file, hdf);
            throw known;
        } catch (RuntimeException | OutOfMemoryError refused) { // the sizes in a damaged file may be anything
            close(file, hdf);
            throw refusal(path, form, refused);
        }
    }

    /** Path of the file. */
    Path path() {
        return path;
    }

    /** The extent of a dimension. */
    int extent(int dim) {
        return extents[dim];
    }

    /** Size and byte order of the numbers. */
    FloatEncoding encoding() {
        return encoding;
    }

    /** What describes the data set. */
    Hdf5Companions companions() {
        return companions;
    }

    /** Whether the data is contiguous, and therefore mapped. */
    boolean isMapped() {
        return mapped != null;
    }

    /** The mapped data. */
    MemorySegment mapped() {
        return mapped;
    }

    /** Extents of the chunks of data that is not mapped. */
    int[] chunkExtents() {
        return chunked.getChunkDimensions();
    }

    /**
     * Reads a normalized window of a frame of mapped data. The last three dimensions are (channel, latitude,
     * longitude); the frames are counted over the dimensions before them.
     *
     * @param channels places of the channels in the file; the first of them are read
     */
    void readMapped(long frame, CropWindow window, int[] channels, Normalization normalization, MemorySegment target,
        long offset) {
        int dims = extents.length;
        long width = extents[dims - 1];
        long height = extents[dims - 2];
        boolean wholeRows = window.width() == width;
        long run = wholeRows ? (long) window.height() * window.width() : window.width();
        int runs = wholeRows ? 1 : window.height();
        long to = offset;
        for (int c = 0; c < window.channels(); c++) {
            long from = (frame * extents[dims - 3] + channels[c]) * height * width;
            for (int j = 0; j < runs; j++) {
                encoding.normalize(mapped, (from + j * width) * encoding.bytes(), run,
                    normalization.means()[c], normalization.spreads()[c], target, to);
                to += run * Float.BYTES;
            }
        }
    }

    /** Checks after a read that the file is as long as before; see {@link WatchedFile#checkLength(int)}. */
    void checkLength(int time) {
        file.checkLength(time);
    }

    /** The message for a mapped page that could not be read. */
    UserException unreadable(int time, InternalError fault) {
        return file.unreadable(time, fault);
    }

    /**
     * Decompresses the chunk that begins at the given element into a new array; jHDF cannot fill an existing one. Needs
     * no lock: jHDF itself decompresses the chunks of a data set in parallel when it reads all of it.
     */
    MemorySegment decompress(int[] start) {
        byte[] chunk;
        try {
            chunk = chunked.getDecompressedChunk(start);
        } catch (RuntimeException damaged) {
            throw damagedChunk(start, damaged.getMessage(), damaged);
        }
        long expected = bytes(chunked.getChunkDimensions());
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

    private String subject() {
        return "Data set '" + form.name() + "' of " + path;
    }

    /** Converts what jHDF threw; the first cause says more than the exceptions around it. */
    static UserException refusal(Path path, Form form, Throwable refused) {
        Throwable cause = refused;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        String reason = " (" + (cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage())
            + "). ";
        String finding = switch (cause) {
            case UnsupportedHdfException _ -> " uses a feature of HDF5 that Isobar cannot read" + reason
                + "Copy '" + form.name() + "' into a file of its own, contiguous or chunked.";
            case ArithmeticException _ -> " is damaged, or has a data set with an extent of more than "
                + Integer.MAX_VALUE + reason + "Make it again, or move it out of the directory.";
            default -> " is not an HDF5 file or is damaged" + reason
                + "Copy or make it again, or move it out of the directory.";
        };
        return new UserException("Data file " + path + finding, refused);
    }

    private Dataset dataset(HdfFile hdf) {
        Node node = hdf.getChildren().get(form.name());
        if (!(node instanceof Dataset fields)) {
            throw new UserException("Data file " + path + notData(node, hdf.getChildren().keySet()));
        }
        int[] shape = fields.getDimensions();
        if (shape.length != form.dimensions().size()) {
            throw new UserException(subject() + " has shape "
                + Arrays.toString(shape) + ", expected " + form.dimensions() + ". Reshape it.");
        }
        if (Arrays.stream(shape).anyMatch(extent -> extent == 0)) {
            throw new UserException(subject() + " is empty: its shape is "
                + Arrays.toString(shape) + ". Write the weather to it, or move the file out of the directory.");
        }
        return fields;
    }

    /** What a file has in the place of the data set, and what to do. Links are not resolved. */
    private String notData(Node node, Set<String> names) {
        String name = form.name();
        return switch (node) {
            case null -> " has no data set '" + name + "' (it has: " + String.join(", ", names)
                + "). Store the weather as " + form.dimensions() + " under that name.";
            case ExternalLink link -> ": '" + name + "' is an external link to " + link.getTargetPath()
                + ", and links are not followed. Use the file with the data set itself.";
            case Link link -> ": '" + name + "' is a soft link to " + link.getTargetPath()
                + ", and links are not followed. Give that data set the name '" + name + "'.";
            case Group group -> ": '" + name + "' is a group (it has: "
                + String.join(", ", group.getChildren().keySet())
                + "). Store the weather as one data set " + form.dimensions() + " under that name.";
            default -> ": '" + name + "' is not a data set but a data type. Store the weather as " + form.dimensions()
                + " under that name.";
        };
    }

    /** Size of an array of these extents in bytes. */
    private long bytes(int[] shape) {
        try {
            return Arrays.stream(shape).asLongStream().reduce(encoding.bytes(), Math::multiplyExact);
        } catch (ArithmeticException overflow) {
            throw new UserException(subject() + " has shape " + Arrays.toString(shape)
                + ", which is more than 2^63 bytes. Make the file again, or move it out of the directory.", overflow);
        }
    }

    private void checkChunks(int[] chunk) {
        boolean valid = chunk.length == extents.length && Arrays.stream(chunk).allMatch(extent -> extent > 0);
        if (!valid || bytes(chunk) > LARGEST_CHUNK) {
            throw new UserException(subject() + " has chunks of shape " + Arrays.toString(chunk)
                + ". Make the file again, with four-dimensional chunks of less than 2 GiB.");
        }
    }

    private FloatEncoding encoding(Dataset fields) {
        int size = fields.getDataType().getSize();
        if (!(fields.getDataType() instanceof FloatingPoint type) || size != 4 && size != 8
            || type.getMantissaSize() != (size == 4 ? 23 : 52)) {
            throw new UserException(subject() + " holds "
                + fields.getDataType().getClass().getSimpleName() + " values of " + size
                + " bytes, expected 32- or 64-bit floating-point numbers. Convert it to float32.");
        }
        return FloatEncoding.of(size, type.getByteOrder());
    }

    private MemorySegment map(long userBlock, ContiguousDataset fields, long bytes) throws IOException {
        long address = fields.getDataAddress() + userBlock;
        if (fields.getDataAddress() < 0) {
            throw new UserException(subject() + " was declared but never written. Make the file again.");
        }
        if (file.length() - address < bytes) {
            throw new UserException("Data file " + path + " is cut off: '" + form.name() + "' of shape "
                + Arrays.toString(extents) + " begins at byte " + address + " and has " + bytes
                + " bytes, the file has " + file.length() + ". Copy or make it again.");
        }
        return file.map(address, bytes, mapping);
    }
}
