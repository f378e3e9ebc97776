package org.isobar.bench.suite;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.os.FileFault;

/** A temporary directory for what nobody needs afterwards: it goes with the benchmark, however that ends. */
public final class TemporaryDirectory implements AutoCloseable {
    private static final int ATTEMPTS = 5; // programs that are just being ended may write meanwhile

    private final Path directory;
    private final Thread hook = new Thread(this::delete, "end of the scratch directory");

    /** Makes the directory. */
    public TemporaryDirectory() {
        try {
            directory = Files.createTempDirectory("isobar-bench");
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
        } catch (IOException | UncheckedIOException gone) {
            // A file has gone while they were listed, or somebody else holds it: the next attempt shows.
        }
    }

    @Override
    public void close() {
        delete();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The hook does what has just been done.
        }
    }
}
