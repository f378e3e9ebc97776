package org.isobar.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A new directory below the system's directory of temporary files, which only this user can read or write. It is
 * deleted on closing or, at the latest, when the JVM exits.
 */
public final class TemporaryDirectory implements AutoCloseable {
    private static final int ATTEMPTS = 5; // stopped programs may still be writing

    private final Path directory;
    private final Thread hook = new Thread(this::delete, "temporary directory removal");

    /** Creates the directory. Its name is {@code prefix} and a random number. */
    public TemporaryDirectory(String prefix) {
        try {
            directory = Files.createTempDirectory(prefix);
        } catch (IOException failure) {
            throw FileFault.unwritable("temporary files to " + System.getProperty("java.io.tmpdir"),
                "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir", failure);
        }
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** The directory. */
    public Path directory() {
        return directory;
    }

    private void delete() {
        for (int attempt = 0; attempt < ATTEMPTS && Files.exists(directory); attempt++) {
            deleteAll();
        }
    }

    private void deleteAll() {
        try (Stream<Path> tree = Files.walk(directory)) {
            List<Path> deepestFirst = tree.sorted(Comparator.reverseOrder()).toList();
            deepestFirst.forEach(path -> path.toFile().delete());
        } catch (IOException | UncheckedIOException incomplete) {
            // A file vanished while the tree was listed, or is in use. The next attempt retries.
        }
    }

    @Override
    public void close() {
        delete();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The JVM is exiting: the hook repeats the deletion.
        }
    }
}
