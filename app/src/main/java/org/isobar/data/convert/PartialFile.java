package org.isobar.data.convert;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.BitSet;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.os.AtomicFile;
import org.isobar.os.HostMachine;
import org.isobar.os.RegularFile;

/**
 * A year's file while it is written, {@code 2020.h5.part}, and a record of the slabs that are on the disk,
 * {@code 2020.h5.part.json}. Both remain if the process is killed, and {@link #open} continues them. A record counts
 * only for the fingerprint that it was written with.
 */
final class PartialFile implements AutoCloseable {
    private static final String SUFFIX = ".part";
    private static final String RECORD_SUFFIX = SUFFIX + ".json";
    private static final int MAX_BYTES = 16 << 20;

    private final Path path;
    private final FileChannel channel;
    private final String fingerprint;
    private final BitSet written = new BitSet();
    private long unsaved; // bytes
    private boolean finished;

    /**
     * What is on the disk.
     *
     * @param fingerprint identifies sources, settings and the order of slabs
     * @param slabs       numbers of the slabs that are on the disk, as bits
     */
    private record Progress(String fingerprint, long[] slabs) { }

    private PartialFile(Path path, FileChannel channel, String fingerprint) {
        this.path = path;
        this.channel = channel;
        this.fingerprint = fingerprint;
    }

    /**
     * Opens the file for writing, and continues what a process that was killed has left.
     *
     * @param path        path of the year's file when it is whole
     * @param fingerprint identifies what is written
     * @throws IOException if it cannot be opened, belongs to another user, or another process is writing it
     */
    static PartialFile open(Path path, String fingerprint) throws IOException {
        Files.createDirectories(path.toAbsolutePath().getParent());
        AtomicFile.deleteTemporaries(sibling(path, RECORD_SUFFIX));
        Path partial = sibling(path, SUFFIX);
        if (Files.exists(partial, LinkOption.NOFOLLOW_LINKS)) {
            RegularFile.refusePipe(partial);
            if ((int) Files.getAttribute(partial, "unix:uid", LinkOption.NOFOLLOW_LINKS) != HostMachine.user()) {
                throw new FileSystemException(partial.toString(), null, partial + " belongs to another user");
            }
        }
        FileChannel channel = FileChannel.open(partial, StandardOpenOption.READ, StandardOpenOption.WRITE,
            StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS);
        try {
            lock(channel, partial);
            PartialFile file = new PartialFile(path, channel, fingerprint);
            file.restore();
            return file;
        } catch (IOException | RuntimeException failure) {
            channel.close();
            throw failure;
        }
    }

    private static void lock(FileChannel channel, Path partial) throws IOException {
        try {
            if (channel.tryLock() != null) {
                return;
            }
        } catch (OverlappingFileLockException own) {
            // another conversion of this process
        }
        throw new FileSystemException(partial.toString(), null, "another process is writing " + partial);
    }

    private void restore() throws IOException {
        Path record = sibling(path, RECORD_SUFFIX);
        if (Files.isRegularFile(record, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Progress progress = new ObjectMapper().readValue(RegularFile.read(record, MAX_BYTES), Progress.class);
                if (progress != null && fingerprint.equals(progress.fingerprint) && progress.slabs != null) {
                    written.or(BitSet.valueOf(progress.slabs));
                    return;
                }
            } catch (JsonProcessingException damaged) {
                // It says nothing about the file, which is written anew.
            }
        }
        Files.deleteIfExists(record);
        channel.truncate(0);
    }

    /** Whether a process that was killed may have left one. */
    static boolean exists(Path path) {
        return Files.exists(sibling(path, SUFFIX), LinkOption.NOFOLLOW_LINKS);
    }

    private static Path sibling(Path path, String suffix) {
        return path.resolveSibling(path.getFileName() + suffix);
    }

    /**
     * Makes the file at least {@code bytes} long, with zeros. It writes the last byte, so nothing else may write
     * meanwhile.
     */
    void lengthen(long bytes) throws IOException {
        if (channel.size() < bytes) {
            channel.write(ByteBuffer.allocate(1), bytes - 1);
        }
    }

    /**
     * Maps a part of the file into memory, to be read while it is written; what is not written yet is zero. The file
     * must be long enough. To open it once more would release the lock.
     */
    MemorySegment map(long offset, long bytes, Arena arena) throws IOException {
        return channel.map(FileChannel.MapMode.READ_ONLY, offset, bytes, arena);
    }

    /** Its path when it is whole. */
    Path path() {
        return path;
    }

    /** The open file. */
    FileChannel channel() {
        return channel;
    }

    /** The slabs that the file has already; a copy. */
    synchronized BitSet written() {
        return (BitSet) written.clone();
    }

    /** Notes that a slab has been written. */
    synchronized void add(int slab, long bytes) {
        written.set(slab);
        unsaved += bytes;
    }

    /**
     * Brings what has been written to the disk and records it, if it is as many bytes. Others may write meanwhile. Thus
     * the disk is busy while values are converted.
     */
    void save(long least) throws IOException {
        long[] slabs;
        synchronized (this) {
            if (unsaved < least) {
                return;
            }
            unsaved = 0;
            slabs = written.toLongArray();
        }
        channel.force(false);
        AtomicFile.replace(sibling(path, RECORD_SUFFIX), file -> AtomicFile.writeFully(file,
            ByteBuffer.wrap(new ObjectMapper().writeValueAsBytes(new Progress(fingerprint, slabs)))));
    }

    /** Gives the whole file its name. */
    void finish() throws IOException {
        channel.force(true);
        Files.move(sibling(path, SUFFIX), path, StandardCopyOption.ATOMIC_MOVE);
        finished = true;
        Files.deleteIfExists(sibling(path, RECORD_SUFFIX));
        AtomicFile.forceDirectory(path.toAbsolutePath().getParent());
    }

    /** Deletes the file. */
    void discard() throws IOException {
        if (!finished) {
            Files.deleteIfExists(sibling(path, RECORD_SUFFIX));
            Files.deleteIfExists(sibling(path, SUFFIX));
        }
    }

    /** Closes the file, which remains as it is. */
    @Override
    public void close() throws IOException {
        channel.close();
    }
}
