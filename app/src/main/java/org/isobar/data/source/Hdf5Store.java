package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.jhdf.HdfFile;
import io.jhdf.api.Attribute;
import io.jhdf.api.Dataset;
import io.jhdf.api.Node;
import io.jhdf.api.dataset.ChunkedDataset;
import io.jhdf.api.dataset.ContiguousDataset;
import io.jhdf.dataset.CompactDataset;
import io.jhdf.filter.PipelineFilterWithData;
import io.jhdf.object.datatype.FixedPoint;
import io.jhdf.object.datatype.FloatingPoint;
import io.jhdf.object.datatype.OrderedDataType;
import org.isobar.fault.UserException;

/**
 * An HDF5 file, in particular a NetCDF-4 file: the arrays of its root group. jHDF reads its structure and decompresses
 * chunks; contiguous elements are read in place. NetCDF-4 names the dimensions of an array by references to other
 * arrays, its dimension scales. An array without such references has unnamed dimensions, with the name "".
 */
public final class Hdf5Store extends SingleFileStore {
    private static final long LARGEST_CHUNK = Integer.MAX_VALUE - 8;
    private static final int DEFLATE = 1; // numbers of HDF5's filters
    private static final int SHUFFLE = 2;
    private static final String NO_CHUNK = "No chunk with offset"; // how jHDF's message begins

    private final HdfFile hdf;

    private Hdf5Store(StoreFile file, HdfFile hdf) {
        super(file);
        this.hdf = hdf;
        Map<Long, Dataset> scales = new HashMap<>();
        for (Node node : hdf) {
            if (node instanceof Dataset dataset) {
                scales.put(dataset.getAddress(), dataset);
            }
        }
        for (Dataset dataset : scales.values()) {
            NumberType type = type(dataset);
            if (type != null && !isDimensionAlone(dataset)) {
                arrays.add(new Array(this, dataset, dims(dataset, scales), type));
            }
        }
    }

    /**
     * Opens a file and reads its structure.
     *
     * @throws UserException if it cannot be read or is not an HDF5 file
     */
    @SuppressWarnings("resource") // closed here on failure, otherwise kept by the new object
    public static Hdf5Store open(Path path) {
        StoreFile file = StoreFile.open("NetCDF-4 file " + path, path);
        HdfFile hdf = null;
        try {
            hdf = new HdfFile(path);
            return new Hdf5Store(file, hdf);
        } catch (UserException known) {
            close(file, hdf);
            throw known;
        } catch (RuntimeException | OutOfMemoryError refused) { // the sizes in a damaged file may be anything
            close(file, hdf);
            throw new UserException(file.title() + " is not an HDF5 file or is damaged (" + reason(refused)
                + "). Copy or download it again, or move it out of the directory.", refused);
        }
    }

    @Override
    public void close() {
        close(file, hdf);
    }

    private static void close(StoreFile file, HdfFile hdf) {
        if (hdf != null) {
            hdf.close();
        }
        file.close();
    }

    /** The first cause of an exception of jHDF says more than the exceptions around it. */
    private static String reason(Throwable refused) {
        Throwable cause = refused;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    /** Whether a data set only marks a dimension of NetCDF-4 that has no coordinate. */
    private static boolean isDimensionAlone(Dataset dataset) {
        Attribute name = dataset.getAttribute("NAME");
        return name != null && name.getData() instanceof String text
            && text.startsWith("This is a netCDF dimension but not a netCDF variable");
    }

    private static List<String> dims(Dataset dataset, Map<Long, Dataset> scales) {
        int rank = dataset.getDimensions().length;
        Attribute references = dataset.getAttribute("DIMENSION_LIST");
        if (references != null && references.getData() instanceof Object[] lists && lists.length == rank) {
            return Arrays.stream(lists).map(list -> name(list, scales)).toList();
        }
        boolean isScale = rank == 1 && dataset.getAttribute("CLASS") != null
            && "DIMENSION_SCALE".equals(dataset.getAttribute("CLASS").getData());
        String[] unnamed = new String[rank];
        Arrays.fill(unnamed, isScale ? dataset.getName() : "");
        return List.of(unnamed);
    }

    private static String name(Object references, Map<Long, Dataset> scales) {
        Object first = references instanceof Object[] list && list.length > 0 ? list[0]
            : references instanceof long[] longs && longs.length > 0 ? (Object) longs[0] : null;
        Dataset scale = first instanceof Long address ? scales.get(address) : null;
        return scale == null ? "" : scale.getName();
    }

    /** The type of a data set's elements; null if they are not numbers of a usual type. */
    private static NumberType type(Dataset dataset) {
        int size = dataset.getDataType().getSize();
        return switch (dataset.getDataType()) {
            case FloatingPoint real when size == 2 && real.getMantissaSize() == 10 -> NumberType.F16;
            case FloatingPoint real when size == 4 && real.getMantissaSize() == 23 -> NumberType.F32;
            case FloatingPoint real when size == 8 && real.getMantissaSize() == 52 -> NumberType.F64;
            case FixedPoint whole when Integer.bitCount(size) == 1 && size <= 8
                && whole.getBitPrecision() == size * Byte.SIZE ->
                NumberType.valueOf((whole.isSigned() ? "I" : "U") + size * Byte.SIZE);
            default -> null;
        };
    }

    /** A data set of a file. */
    private static final class Array implements StoredArray {
        private final Hdf5Store store;
        private final Dataset dataset;
        private final List<String> dims;
        private final NumberType type;
        private final ByteOrder order;
        private final ArrayAttributes attributes;
        private MemorySegment absent; // a chunk of fill values, made when it is first needed

        Array(Hdf5Store store, Dataset dataset, List<String> dims, NumberType type) {
            this.store = store;
            this.dataset = dataset;
            this.dims = dims;
            this.type = type;
            order = dataset.getDataType() instanceof OrderedDataType ordered ? ordered.getByteOrder()
                : ByteOrder.nativeOrder();
            attributes = new ArrayAttributes(attributes(dataset));
            int[] chunk = chunk();
            if (chunk.length != dims.size() || Arrays.stream(chunk).anyMatch(extent -> extent < 1)
                || StoredArray.elements(chunk) > LARGEST_CHUNK / type.bytes()) {
                throw new UserException(store.title() + ": '" + name() + "' has chunks of " + Arrays.toString(chunk)
                    + ". Store it in chunks of less than 2 GiB, with nccopy -c or h5repack -l.");
            }
        }

        @Override
        public String name() {
            return dataset.getName();
        }

        @Override
        public List<String> dims() {
            return dims;
        }

        @Override
        public int[] shape() {
            return dataset.getDimensions();
        }

        @Override
        public NumberType type() {
            return type;
        }

        @Override
        public ArrayAttributes attributes() {
            return attributes;
        }

        @Override
        public int[] chunk() {
            if (dataset instanceof ChunkedDataset chunked) {
                return chunked.getChunkDimensions();
            }
            int[] ones = new int[dims.size()];
            Arrays.fill(ones, 1);
            return ones;
        }

        @Override
        public void read(int[] start, int[] count, MemorySegment target) {
            switch (dataset) {
                case ChunkedDataset chunked -> {
                    Optional<DeflatedChunk> deflated = deflated(chunked);
                    ChunkedBlock.read(start, count, chunk(), type.bytes(), target,
                        index -> decompress(chunked, deflated, index));
                }
                case ContiguousDataset data when data.getDataAddress() >= 0 -> {
                    long first = data.getDataAddress() + store.hdf.getUserBlockSize();
                    store.file.readBlock(new StoreFile.Placement(name(), shape(), type.bytes(), false,
                        element -> first + element * type.bytes()), start, count, target);
                }
                case CompactDataset compact -> ChunkedBlock.read(start, count, shape(), type.bytes(), target,
                    index -> ChunkedBlock.Chunk.of(MemorySegment.ofBuffer(compact.getDataBuffer()), type.bytes()));
                default -> fill(target, StoredArray.elements(count));
            }
            type.toNative(target, StoredArray.elements(count), order);
        }

        private ChunkedBlock.Chunk decompress(ChunkedDataset chunked, Optional<DeflatedChunk> deflated, int[] index) {
            int[] start = new int[index.length];
            Arrays.setAll(start, d -> index[d] * chunk()[d]);
            long expected = StoredArray.elements(chunk()) * type.bytes();
            String problem;
            RuntimeException cause = null;
            try {
                Optional<ChunkedBlock.Chunk> usual = deflated.flatMap(memory ->
                    memory.decode(chunked.getRawChunkBuffer(start)));
                if (usual.isPresent()) {
                    return usual.get();
                }
                byte[] chunk = chunked.getDecompressedChunk(start);
                if (chunk.length >= expected) {
                    return ChunkedBlock.Chunk.of(MemorySegment.ofArray(chunk), type.bytes());
                }
                problem = "the chunk has " + chunk.length + " bytes of " + expected;
            } catch (RuntimeException failure) {
                if (failure.getMessage() != null && failure.getMessage().startsWith(NO_CHUNK)) {
                    return ChunkedBlock.Chunk.of(absent(expected), type.bytes());
                }
                problem = reason(failure);
                cause = failure;
            }
            throw new UserException(store.title() + ": '" + name() + "' cannot be read at element "
                + Arrays.toString(start) + " (" + problem + "). The file is damaged or incomplete, or uses a filter "
                + "that jHDF does not support. Download it again, or write it again with deflate.", cause);
        }

        /** A decoder of the usual filters; empty if the chunks have others, for which jHDF is asked. */
        private Optional<DeflatedChunk> deflated(ChunkedDataset chunked) {
            List<Integer> filters = chunked.getFilters().stream().map(PipelineFilterWithData::getId).sorted().toList();
            boolean shuffled = filters.equals(List.of(DEFLATE, SHUFFLE));
            return shuffled || filters.equals(List.of(DEFLATE)) ? Optional.of(new DeflatedChunk(
                Math.toIntExact(StoredArray.elements(chunk()) * type.bytes()), type.bytes(), shuffled))
                : Optional.empty();
        }

        private synchronized MemorySegment absent(long bytes) {
            if (absent == null) {
                absent = MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);
                fill(absent, bytes / type.bytes());
            }
            return absent;
        }

        /** Writes the fill value, in the byte order of the file, as other elements are read. */
        private void fill(MemorySegment target, long count) {
            double value = dataset.getFillValue() instanceof Number number ? number.doubleValue() : 0;
            for (long i = 0; i < count; i++) {
                type.narrow(value, target, i);
            }
            type.toNative(target, count, order);
        }

        private static Map<String, Object> attributes(Dataset dataset) {
            Map<String, Object> values = new HashMap<>();
            dataset.getAttributes().forEach((name, attribute) -> {
                try {
                    Object value = value(attribute.getData());
                    if (value != null) {
                        values.put(name, value);
                    }
                } catch (RuntimeException unreadable) { // jHDF: of types that no attribute needed here has
                    values.remove(name);
                }
            });
            return values;
        }

        private static Object value(Object data) {
            return switch (data) {
                case String text -> text;
                case String[] texts when texts.length == 1 -> texts[0];
                case Number number -> new double[] {number.doubleValue()};
                case double[] numbers -> numbers;
                case float[] numbers -> widened(numbers);
                case long[] numbers -> Arrays.stream(numbers).asDoubleStream().toArray();
                case int[] numbers -> Arrays.stream(numbers).asDoubleStream().toArray();
                case short[] numbers -> widened(numbers);
                case byte[] numbers -> widened(numbers);
                case null, default -> null;
            };
        }

        private static double[] widened(Object numbers) {
            double[] widened = new double[java.lang.reflect.Array.getLength(numbers)];
            Arrays.setAll(widened, i -> java.lang.reflect.Array.getDouble(numbers, i));
            return widened;
        }
    }
}
