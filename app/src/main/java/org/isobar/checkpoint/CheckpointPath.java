package org.isobar.checkpoint;

import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * A path that a user gives for a checkpoint.
 *
 * @param path a checkpoint, a directory of checkpoints, or a run's directory that contains one named {@link #DIRECTORY}
 */
public record CheckpointPath(Path path) {
    /** Name of the directory of checkpoints in a run's directory. */
    public static final String DIRECTORY = "checkpoints";

    /**
     * Opens the checkpoint; of several, the newest that passes the check.
     *
     * @param check   what is checked
     * @param skipped receives a message for each newer checkpoint that fails the check
     * @throws UserException if no checkpoint passes the check
     */
    public Checkpoint open(IntegrityCheck check, Consumer<String> skipped) {
        Optional<Path> directory = directory();
        if (directory.isEmpty()) {
            return Checkpoint.open(path, check);
        }
        return Checkpoint.newest(directory.get(), check, skipped).orElseThrow(() -> new UserException(
            "every checkpoint in " + directory.get() + " is damaged or incomplete; give another directory"));
    }

    /**
     * The checkpoint, or all checkpoints of the directory, newest first. They are not checked.
     *
     * @throws UserException if the path does not exist
     */
    public List<Path> all() {
        return directory().map(Checkpoint::list).orElse(List.of(path));
    }

    /** The directory of checkpoints that the path refers to; empty if the path is a checkpoint itself. */
    private Optional<Path> directory() {
        if (Files.notExists(path)) {
            throw FileFault.unreadable("checkpoint " + path, new NoSuchFileException(path.toString()));
        }
        if (!Files.isDirectory(path) || Files.exists(path.resolve(CheckpointManifest.FILE))) {
            return Optional.empty();
        }
        return Stream.of(path.resolve(DIRECTORY), path).filter(place -> !Checkpoint.list(place).isEmpty()).findFirst();
    }
}
