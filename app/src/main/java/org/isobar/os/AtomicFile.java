package org.isobar.os;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A file that is replaced atomically: it is written under a temporary name in the same directory, forced to disk and
 * renamed. Until the rename the old file is unchanged. The temporary name is random and the file is created
 * exclusively, so that another user who can write the directory cannot place a link under that name beforehand. A
 * process that is killed while writing leaves the temporary file behind; the next write of the same file deletes it.
 * Two processes must not {@link #write} the same file at the same time; {@link #replace} allows that.
 *
 * @param what   what the file holds, for error messages: "weights", for example
 * @param path   path of the file
 * @param option the command-line option that selects another directory, for error messages
 */
public record AtomicFile(String what, Path path, String option) {
    private static final String SUFFIX = ".tmp";

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
        Path directory = path.toAbsolutePath().getParent();
        try {
            if (directory == null) {
                throw new FileSystemException(path.toString(), null, "Is a directory");
            }
            Files.createDirectories(directory);
            deleteTemporaries(path);
            replace(path, content);
            forceDirectory(directory);
        } catch (IOException failure) {
            throw FileFault.unwritable(what + " " + path, option, failure);
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

    /**
     * Writes or replaces a file atomically in an existing directory. Several processes may do so at the same time, each
     * with its own temporary file; the last rename wins. Temporary files of killed processes are not deleted.
     */
    public static void replace(Path path, Content content) throws IOException {
        Path temporary = path.resolveSibling(path.getFileName() + "."
            + HexFormat.of().toHexDigits(new SecureRandom().nextLong()) + SUFFIX);
        try {
            create(temporary, content);
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            temporary.toFile().delete(); // exists only after a failure
        }
    }

    /**
     * Creates a file and forces it to disk.
     *
     * @throws java.nio.file.FileAlreadyExistsException if there is a file or a link of that name
     */
    public static void create(Path path, Content content) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            content.writeTo(channel);
            channel.force(true);
        }
    }

    /** Writes all remaining bytes of a buffer at the channel's position; a single write may write only some of them. */
    public static void writeFully(WritableByteChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Deletes the temporary files that killed writers of a file have left. */
    public static void deleteTemporaries(Path path) throws IOException {
        Pattern name = Pattern.compile(Pattern.quote(path.getFileName().toString()) + "\\.[0-9a-f]{16}"
            + Pattern.quote(SUFFIX));
        try (DirectoryStream<Path> temporaries = Files.newDirectoryStream(path.toAbsolutePath().getParent(),
                entry -> name.matcher(entry.getFileName().toString()).matches())) {
            for (Path temporary : temporaries) {
                Files.deleteIfExists(temporary);
            }
        } catch (DirectoryIteratorException failure) {
            throw failure.getCause();
        }
    }

    /** Forces the entries of a directory to disk, so that renames survive a power failure. */
    public static void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
