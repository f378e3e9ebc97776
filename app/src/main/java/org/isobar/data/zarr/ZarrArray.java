package org.isobar.data.zarr;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.source.ArrayAttributes;
import org.isobar.data.source.NumberType;
import org.isobar.data.source.StoredArray;
import org.isobar.data.zarr.Scratch.Use;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/** An array of a Zarr store. */
final class ZarrArray implements StoredArray {
    private static final long SMALLEST_PART = 2 << 20; // bytes; a few blocks of Blosc

    private final String title;
    private final Path directory;
    private final ArrayMetadata metadata;
    private final ScratchPool pool;
    private final CodecChain codecs; // null if the array cannot be read

    /**
     * @param title     title of the store
     * @param directory directory of the array
     */
    ZarrArray(String title, Path directory, ArrayMetadata metadata, ScratchPool pool) {
        this.title = title;
        this.directory = directory;
        this.metadata = metadata;
        this.pool = pool;
        codecs = metadata.encoding().refusal() == null && chunkBytes() <= Integer.MAX_VALUE
            ? new CodecChain(metadata.encoding().codecs(), chunkBytes()) : null;
    }

    @Override
    public String name() {
        return metadata.name();
    }

    @Override
    public List<String> dims() {
        return metadata.dims();
    }

    @Override
    public int[] shape() {
        return metadata.shape().clone();
    }

    @Override
    public NumberType type() {
        return metadata.type();
    }

    @Override
    public ArrayAttributes attributes() {
        return metadata.attributes();
    }

    /** The part of a chunk that can be decoded without the rest, and is not too small: chunks may have many levels. */
    @Override
    public int[] chunk() {
        int[] part = metadata.decoded().clone();
        long bytes = chunkBytes();
        for (int d = 0; isRowMajor() && codecs != null && codecs.isDivisible() && d < part.length
            && bytes / part[d] >= SMALLEST_PART; d++) {
            bytes /= part[d];
            part[d] = 1;
        }
        return part;
    }

    @Override
    public String storage() {
        String label = metadata.encoding().label();
        return "chunks of " + Arrays.toString(metadata.decoded()) + (label.isEmpty() ? "" : ", " + label);
    }

    private boolean isRowMajor() {
        int[] order = metadata.dimOrder();
        return IntStream.range(0, order.length).allMatch(d -> order[d] == d);
    }

    /** Number of bytes of a decoded chunk; {@code Long.MAX_VALUE} if it is larger. */
    private long chunkBytes() {
        double bytes = type().bytes();
        for (int extent : metadata.decoded()) {
            bytes *= extent;
        }
        return (long) bytes; // exact where it matters, and never wraps round
    }

    @Override
    public void read(int[] start, int[] count, MemorySegment target) {
        long elements = StoredArray.elements(count);
        if (elements == 0) {
            return;
        }
        if (metadata.encoding().refusal() != null) {
            throw new UserException(title + ": '" + name() + "' cannot be read: " + metadata.encoding().refusal());
        }
        if (codecs == null) {
            throw new UserException(title + ": '" + name() + "' has chunks of " + Arrays.toString(metadata.decoded())
                + ", which have more than 2 GiB. Write it again with smaller chunks.");
        }
        Scratch scratch = pool.take();
        try {
            walk(new ChunkPart(start, count, metadata), 0, target, scratch);
        } finally {
            pool.give(scratch);
        }
        type().toNative(target, elements, metadata.byteOrder());
    }

    /** Visits the chunks of the dimensions from {@code dim} on. */
    private void walk(ChunkPart part, int dim, MemorySegment target, Scratch scratch) {
        if (dim == metadata.shape().length) {
            copy(part, target, scratch);
            return;
        }
        for (int i = part.first(dim); i <= part.last(dim); i++) {
            part.select(dim, i);
            walk(part, dim + 1, target, scratch);
        }
    }

    private void copy(ChunkPart part, MemorySegment target, Scratch scratch) {
        Path file = directory.resolve(metadata.keys().of(part.file()));
        try (ChunkFile opened = ChunkFile.open(file, codecs.mostBytes()).orElse(null)) { // null is not closed
            Optional<ChunkBytes> encoded = opened == null ? Optional.empty()
                : metadata.encoding().inner() == null ? Optional.of(opened.only(scratch))
                : opened.inner(metadata.encoding(), part.numberInFile(), part.chunksOfFile(), scratch);
            if (encoded.isEmpty()) {
                part.fill(fill(file), target);
            } else {
                decode(encoded.get(), part, target, scratch);
            }
        } catch (DamagedChunk damaged) {
            throw new UserException(title + ": a chunk of '" + name() + "', " + file + ", cannot be decoded: "
                + damaged.getMessage() + ". Copy this file again.", damaged);
        } catch (IOException failure) {
            throw FileFault.unreadable("a chunk of '" + name() + "' in " + title + ", " + file, failure);
        }
    }

    private void decode(ChunkBytes encoded, ChunkPart part, MemorySegment target, Scratch scratch)
        throws IOException, DamagedChunk {
        boolean isDivisible = codecs.isDivisible();
        MemorySegment place = isDivisible || part.byteSize() == chunkBytes() ? part.contiguousIn(target) : null;
        long offset = isDivisible ? part.byteOffset() : 0;
        MemorySegment decoded = place != null ? place
            : scratch.take(Use.DECODED, isDivisible ? part.byteSize() : chunkBytes());
        codecs.decode(encoded, offset, decoded, scratch);
        if (place == null) {
            part.copy(decoded, offset, target);
        }
    }

    private byte[] fill(Path file) throws IOException {
        if (!Files.isDirectory(directory)) {
            throw new UserException(title + ": '" + name() + "' has lost its directory while it was read.");
        }
        if (metadata.fill() == null) {
            throw new UserException(title + ": a chunk of '" + name() + "', " + file + ", does not exist, and the "
                + "array has no fill_value for its elements. Copy this file, too.");
        }
        return metadata.fill();
    }
}
