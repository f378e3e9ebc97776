package org.isobar.data.source;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.function.LongUnaryOperator;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/** A file that is open for reading at any place. Thread-safe. */
final class StoreFile implements AutoCloseable {
    private final Path path;
    private final String title;
    private final RandomAccessFile file; // not a channel alone, which an interrupt of the reading thread would close

    private StoreFile(Path path, String title, RandomAccessFile file) {
        this.path = path;
        this.title = title;
        this.file = file;
    }

    /**
     * Opens a file.
     *
     * @param title what it is, and where, for messages
     * @throws UserException if it does not exist, is not a regular file, or cannot be opened
     */
    static StoreFile open(String title, Path path) {
        try {
            RegularFile.size(path);
            return new StoreFile(path, title, new RandomAccessFile(path.toFile(), "r"));
        } catch (IOException failure) {
            throw FileFault.unreadable(title, failure);
        }
    }

    /** The opened file. */
    FileChannel channel() {
        return file.getChannel();
    }

    /** Where it is. */
    Path path() {
        return path;
    }

    /** What it is, and where. */
    String title() {
        return title;
    }

    /** Its length in bytes. */
    long length() {
        try {
            return file.length();
        } catch (IOException failure) {
            throw FileFault.unreadable(title, failure);
        }
    }

    /**
     * Fills a segment with the bytes at a position.
     *
     * @param what name of the array that they belong to, for messages
     * @throws UserException if the file ends before, or cannot be read
     */
    void read(String what, long position, MemorySegment target) {
        ByteBuffer buffer = target.asByteBuffer();
        try {
            while (buffer.hasRemaining()) {
                int read = file.getChannel().read(buffer, position + buffer.position());
                if (read < 0) {
                    throw new UserException(title + " is cut off: '" + what + "' needs bytes from "
                        + (position + buffer.position()) + " on, and the file ends there. Copy or download it again.");
                }
            }
        } catch (IOException failure) {
            throw FileFault.unreadable(title + ", '" + what + "' at byte " + position, failure);
        }
    }

    /** The place of the elements of an array that is not stored in chunks. */
    record Placement(String name, int[] shape, int elementBytes, boolean interleaved, LongUnaryOperator address) { }

    /**
     * Reads a block of an array, in runs of elements that are one after another.
     *
     * @param place how the array is stored; if it is interleaved, only elements of one index of the first dimension are
     *              one after another
     */
    void readBlock(Placement place, int[] start, int[] count, MemorySegment target) {
        if (StoredArray.elements(count) > 0) {
            readBlock(place, start, count, 0, 0, 0, target);
        }
    }

    /** Reads the part of a block at one index of the dimensions before {@code dim}. */
    private void readBlock(Placement place, int[] start, int[] count, int dim, long from, long to,
                           MemorySegment target) {
        long run = 1; // elements of the block at this index
        long first = from;
        boolean together = !place.interleaved || dim > 0 || count[0] == 1;
        for (int d = dim; d < count.length; d++) {
            run *= count[d];
            first = first * place.shape[d] + start[d];
            together &= d == dim || count[d] == place.shape[d];
        }
        if (together) {
            read(place.name, place.address.applyAsLong(first),
                target.asSlice(to * run * place.elementBytes, run * place.elementBytes));
            return;
        }
        for (int i = 0; i < count[dim]; i++) {
            readBlock(place, start, count, dim + 1, from * place.shape[dim] + start[dim] + i, to * count[dim] + i,
                target);
        }
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException alreadyRead) {
            // Closing a file that was only read loses nothing.
        }
    }
}
