package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

import org.isobar.os.FileFault;

/** What is done to all checkpoints of a directory. */
public final class Checkpoints {
    private Checkpoints() { }

    /**
     * Moves checkpoints out of a new run's way, into the first of {@code directory-1}, {@code directory-2}... that is
     * not there: all that are later than an iteration.
     *
     * @param iteration with which the new run begins
     * @return where they are now; nothing if there were none
     * @throws org.isobar.fault.UserException if they cannot be moved
     */
    public static Optional<Path> setAside(Path directory, long iteration) {
        List<Path> later = Checkpoint.list(directory).stream()
            .filter(path -> Folder.iteration(path).orElseThrow() > iteration).toList();
        if (later.isEmpty()) {
            return Optional.empty();
        }
        try {
            Path aside = firstFree(directory);
            for (Path path : later) {
                Files.move(path, aside.resolve(path.getFileName()), StandardCopyOption.ATOMIC_MOVE);
            }
            return Optional.of(aside);
        } catch (IOException e) {
            throw FileFault.unwritable("directory " + directory, "--expdir", e);
        }
    }

    /** Makes it. */
    private static Path firstFree(Path directory) throws IOException {
        for (int number = 1; ; number++) {
            Path aside = directory.resolveSibling(directory.getFileName() + "-" + number);
            if (Files.notExists(aside)) {
                return Files.createDirectory(aside);
            }
        }
    }
}
