package org.isobar.data;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/** A data file that is open for reading, and may become shorter or fail meanwhile. Thread-safe. */
final class WatchedFile implements AutoCloseable {
    private final Path path;
    private final RandomAccessFile file; // not a channel, which an interrupt of the reading thread would close
    private final long length; // when it was opened

    private WatchedFile(Path path) throws IOException {
        this.path = path;
        file = new RandomAccessFile(path.toFile(), "r");
        length = file.length();
    }

    /**
     * Opens a file.
     *
     * @throws UserException if {@code path} is not a file
     * @throws IOException   if it cannot be opened
     */
    static WatchedFile open(Path path) throws IOException {
        if (!Files.exists(path)) {
            throw new NoSuchFileException(path.toString());
        }
        if (!Files.isReadable(path)) {
            throw new AccessDeniedException(path.toString());
        }
        if (!Files.isRegularFile(path)) {
            throw new UserException("Data file " + path + " is not a file. Move it out of the directory.");
        }
        return new WatchedFile(path);
    }

    /** Length when it was opened, in bytes. */
    long length() {
        return length;
    }

    /** Maps a part of the file until {@code arena} is closed. */
    MemorySegment map(long address, long bytes, Arena arena) throws IOException {
        return file.getChannel().map(FileChannel.MapMode.READ_ONLY, address, bytes, arena);
    }

    /**
     * Checks after a read that the file is as long as before. Bytes of a mapping between the end of the file and the
     * end of its last page are read as 0, without an error. The JVM throws the error of a page that cannot be read
     * late, but at the end of a native call at the latest: here the call that returns the length.
     *
     * @throws UserException if the file has become shorter
     */
    void checkLength(int time) {
        checkLength(time, null);
    }

    /** The message for a mapped page that could not be read: the file has become shorter, or the disk has failed. */
    UserException unreadable(int time, InternalError fault) {
        checkLength(time, fault);
        return new UserException("Data file " + path + " cannot be read at time step " + time
            + ": the disk or the network file system reports an error. Check it with dmesg, copy the file to a sound "
            + "disk, and resume the run.", fault);
    }

    private void checkLength(int time, InternalError fault) {
        try {
            long now = file.length();
            if (now < length) {
                throw new UserException("Data file " + path + " was shortened from " + length + " to " + now
                    + " bytes before or while time step " + time + " was read. Copy or make it again, and resume the "
                    + "run.", fault);
            }
        } catch (IOException failure) {
            throw FileFault.unreadable("data file " + path + " at time step " + time, failure);
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
