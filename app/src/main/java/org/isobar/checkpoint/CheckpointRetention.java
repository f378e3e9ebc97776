package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * Deletes old checkpoints and keeps the newest ones. Rank 0 applies it when a new checkpoint is complete.
 *
 * <p>Only complete checkpoints are counted and deleted. Links, and checkpoints that cannot be opened, are left alone. A
 * checkpoint is renamed before it is deleted, so that no partial one is left under its name.
 *
 * @param keep number of newest checkpoints to keep; at least 1
 */
public record CheckpointRetention(int keep) {
    /** Checks the argument. */
    public CheckpointRetention {
        if (keep < 1) {
            throw new IllegalArgumentException("keep " + keep);
        }
    }

    /**
     * Deletes all complete checkpoints in a directory except the newest and those of the iterations {@code also}.
     *
     * @param also     iterations whose checkpoints are kept too: that of the best score, and the one just written,
     *                 which need not be among the newest if the run resumed from an older one
     * @param warnings receives a message if something cannot be read or deleted
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

    /**
     * Deletes before a save what {@link #apply} would delete after it, except the newest complete checkpoint: until the
     * new one is complete, the run can resume from that one.
     *
     * @param also iterations whose checkpoints are kept too: that of the best score, and the one that is written next
     * @return names of the deleted checkpoints; empty if there are none that may be deleted
     */
    public List<String> makeRoom(Path directory, Set<Long> also, Consumer<String> warnings) {
        List<String> deleted = new ArrayList<>();
        try {
            Checkpoint.list(directory).stream().filter(CheckpointRetention::isComplete).skip(Math.max(1, keep - 1L))
                .filter(path -> !also.contains(CheckpointFiles.iteration(path).orElseThrow()))
                .forEach(path -> {
                    delete(directory, path, warnings);
                    deleted.add(path.getFileName().toString());
                });
        } catch (UserException e) {
            warnings.accept(e.getMessage());
        }
        return deleted;
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
        Path temporary = directory.resolve(CheckpointFiles.temporary(CheckpointFiles.iteration(path).orElseThrow()));
        try {
            CheckpointFiles.delete(temporary);
            Files.move(path, temporary, StandardCopyOption.ATOMIC_MOVE);
            CheckpointFiles.delete(temporary);
        } catch (IOException e) {
            warnings.accept(FileFault.unwritable("directory " + directory, "--expdir", e).getMessage());
        }
    }
}
