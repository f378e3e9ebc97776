package org.isobar.data;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Files that appear whole or not at all: written under a temporary name, then moved. */
public final class AtomicFile {
    private AtomicFile() { }

    /** Writes the contents of a file. */
    public interface Content {
        /** Writes to a channel that stands at position 0 of an empty file. */
        void writeTo(FileChannel channel) throws IOException;
    }

    /** Replaces {@code path}, whose directory is made if need be. A failure leaves what was there. */
    public static void write(Path path, Content content) {
        Path temporary = temporary(path);
        try {
            Files.createDirectories(temporary.getParent());
            try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)) {
                content.writeTo(channel);
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException failure) {
            throw FileFault.of("write", path, failure);
        } finally {
            temporary.toFile().delete(); // gone already, if all went well
        }
    }

    /** The temporary name of a file; what a killed program leaves behind. */
    public static Path temporary(Path path) {
        return path.toAbsolutePath().resolveSibling(path.getFileName() + ".tmp");
    }
}
