package org.isobar.os;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * A file that is replaced atomically: it is written under a temporary name in the same directory, forced to disk and
 * renamed. Until the rename the old file is unchanged.
 *
 * @param what   what the file holds, for error messages: "weights", for example
 * @param path   path of the file
 * @param option the command-line option that selects another directory, for error messages
 */
public record AtomicFile(String what, Path path, String option) {

    /** Writes the contents of a file. */
    public interface Content {
        /** Writes to a channel at position 0 of an empty file. */
        void writeTo(FileChannel channel) throws IOException;
    }

    /**
     * Writes the file; creates its directory if it does not exist.
     *
     * @throws org.isobar.fault.UserException if it cannot be written
     */
    public void write(Content content) {
        Path temporary = temporary(path);
        try {
            Files.createDirectories(temporary.getParent());
            try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)) {
                content.writeTo(channel);
                channel.force(true);
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
            forceDirectory(temporary.getParent());
        } catch (IOException failure) {
            throw FileFault.unwritable(what + " " + path, option, failure);
        } finally {
            temporary.toFile().delete(); // exists only after a failure
        }
    }

    /**
     * Writes the file; creates its directory if it does not exist.
     *
     * @throws org.isobar.fault.UserException if it cannot be written
     */
    public void write(byte[] content) {
        write(channel -> writeFully(channel, ByteBuffer.wrap(content)));
    }

    /** Writes all remaining bytes of a buffer at the channel's position; a single write may write only some of them. */
    public static void writeFully(WritableByteChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** The temporary path of a file. A process that is killed while writing leaves it behind. */
    public static Path temporary(Path path) {
        return path.toAbsolutePath().resolveSibling(path.getFileName() + ".tmp");
    }

    /** Forces the entries of a directory to disk, so that renames survive a power failure. */
    public static void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
