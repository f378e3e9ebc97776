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
 * A file that appears whole or not at all: it is written under a temporary name beside its own, forced to the disk, and
 * moved. What stood under its name before stands there until then.
 *
 * @param what   what it holds, for messages: "weights", say
 * @param path   where it appears
 * @param option the command-line option that puts it into another directory
 */
public record AtomicFile(String what, Path path, String option) {

    /** Writes the contents of a file. */
    public interface Content {
        /** Writes to a channel that stands at position 0 of an empty file. */
        void writeTo(FileChannel channel) throws IOException;
    }

    /**
     * Writes the file; makes its directory if need be.
     *
     * @throws org.isobar.fault.UserException if the disk does not take it
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
            temporary.toFile().delete(); // gone already, if all went well
        }
    }

    /**
     * Writes the file; makes its directory if need be.
     *
     * @throws org.isobar.fault.UserException if the disk does not take it
     */
    public void write(byte[] content) {
        write(channel -> writeFully(channel, ByteBuffer.wrap(content)));
    }

    /** Writes all that remains of a buffer at the channel's position: a single write may take only part of it. */
    public static void writeFully(WritableByteChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** The temporary name of a file; what a killed program leaves behind. */
    public static Path temporary(Path path) {
        return path.toAbsolutePath().resolveSibling(path.getFileName() + ".tmp");
    }

    /** Makes the names in a directory survive a loss of power. */
    public static void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
