package org.isobar.train;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** Directories with all that is in them. */
final class Trees {
    private Trees() { }

    /** Copies a directory to where none is. */
    static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to.getParent());
        for (Path path : all(from)) {
            Files.copy(path, to.resolve(from.relativize(path).toString()));
        }
    }

    /** Deletes a directory. */
    static void delete(Path directory) throws IOException {
        for (Path path : all(directory).reversed()) {
            Files.delete(path);
        }
    }

    /** What is in a directory, by name. */
    static List<String> names(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    /** Names and checksums of all files below a directory but the lock, which says who had it last. */
    static List<String> contents(Path directory) throws IOException {
        List<String> contents = new ArrayList<>();
        for (Path path : all(directory)) {
            if (Files.isRegularFile(path) && !path.endsWith(".checkpoints.lock")) {
                CRC32C sum = new CRC32C();
                sum.update(Files.readAllBytes(path));
                contents.add(directory.relativize(path) + " " + sum.getValue());
            }
        }
        return contents;
    }

    private static List<Path> all(Path directory) throws IOException {
        try (Stream<Path> paths = Files.walk(directory)) {
            return paths.sorted().toList();
        }
    }
}
