package org.isobar.os;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Opens input files. Each must be a regular file, or a link to one: reading a named pipe may wait without end, and a
 * device such as {@code /dev/zero} has no end.
 */
public final class RegularFile {
    private static final int TYPE_BITS = 0170000; // of a mode
    private static final int PIPE = 0010000;

    private RegularFile() { }

    /**
     * Checks that a path is a regular file, without opening it, and returns its size in bytes.
     *
     * @throws FileSystemException if it is a directory, a pipe, a socket or a device
     * @throws IOException         if it does not exist or cannot be examined
     */
    public static long size(Path path) throws IOException {
        BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
        if (attributes.isDirectory()) {
            throw new FileSystemException(path.toString(), null, "Is a directory");
        }
        if (!attributes.isRegularFile()) {
            throw new FileSystemException(path.toString(), null, "It is a pipe or a device, not a regular file");
        }
        return attributes.size();
    }

    /**
     * Checks before a file is opened for writing that it is not a named pipe, whose reader would be waited for.
     *
     * @throws FileSystemException if it exists and is a pipe
     */
    public static void refusePipe(Path path) throws IOException {
        if (Files.exists(path) && ((int) Files.getAttribute(path, "unix:mode") & TYPE_BITS) == PIPE) {
            throw new FileSystemException(path.toString(), null, "It is a named pipe, not a regular file");
        }
    }

    /**
     * Opens a file for reading.
     *
     * @throws IOException as {@link #size} does, or if the file cannot be opened
     */
    public static FileChannel open(Path path) throws IOException {
        size(path);
        return FileChannel.open(path, StandardOpenOption.READ);
    }

    /**
     * Reads a whole file.
     *
     * @param limit largest accepted size in bytes
     * @throws FileSystemException if the file is larger
     * @throws IOException         as {@link #size} does, or if the file cannot be read
     */
    public static byte[] read(Path path, int limit) throws IOException {
        long size = size(path);
        if (size <= limit) {
            try (InputStream stream = Files.newInputStream(path)) {
                byte[] bytes = stream.readNBytes(limit + 1); // the file may have grown meanwhile
                if (bytes.length <= limit) {
                    return bytes;
                }
            }
        }
        throw new FileSystemException(path.toString(), null,
            "It has " + size + " bytes, and at most " + limit + " are read");
    }
}
