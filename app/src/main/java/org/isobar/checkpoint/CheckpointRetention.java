package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * Which checkpoints stay: the newest, and any that are asked for. Rank 0 applies it when a new one is complete.
 *
 * <p>Only a complete checkpoint counts, and only a complete one is deleted: what cannot be opened, and what is a link,
 * is left alone. A checkpoint is renamed before it is deleted, so that no half of one is ever left under its name.
 *
 * @param keep how many of the newest stay; at least 1
 */
public record CheckpointRetention(int keep) {
    /** Checks that something is kept. */
    public CheckpointRetention {
        if (keep < 1) {
            throw new IllegalArgumentException("keep " + keep);
        }
    }

    /**
     * Deletes all complete checkpoints in a directory but the newest and those of {@code also}.
     *
     * @param also     iterations whose checkpoints stay: the best one's, and that of the one just written, which need
     *                 not be among the newest if the run began at an older one
     * @param warnings is told of what cannot be deleted; that is no failure
     */
    public void apply(Path directory, Set<Long> also, Consumer<String> warnings) {
        try {
            List<Path> complete = Checkpoint.list(directory).stream().filter(CheckpointRetention::isComplete).toList();
            complete.stream().skip(keep)
                .filter(path -> !also.contains(CheckpointFiles.iteration(path).orElseThrow()))
                .forEach(path -> delete(directory, path, warnings));
        } catch (UserException e) {
            warnings.accept(e.getMessage());
        }
    }

    private static boolean isComplete(Path path) {
        if (Files.isSymbolicLink(path)) {
            return false;
        }
        try (Checkpoint _ = Checkpoint.open(path)) {
            return true;
        } catch (UserException e) {
            return false;
        }
    }

    private static void delete(Path directory, Path path, Consumer<String> warnings) {
        Path doomed = directory.resolve(CheckpointFiles.temporary(CheckpointFiles.iteration(path).orElseThrow()));
        try {
            CheckpointFiles.delete(doomed);
            Files.move(path, doomed, StandardCopyOption.ATOMIC_MOVE);
            CheckpointFiles.delete(doomed);
        } catch (IOException e) {
            warnings.accept(FileFault.unwritable("directory " + directory, "--expdir", e).getMessage());
        }
    }
}
