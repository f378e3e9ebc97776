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
 * What a user gives for a checkpoint.
 *
 * @param path a checkpoint, a directory of checkpoints, or a run's directory with one called {@link #DIRECTORY} in it
 */
public record CheckpointPath(Path path) {
    /** Where in a run's directory its checkpoints are. */
    public static final String DIRECTORY = "checkpoints";

    /**
     * Opens the checkpoint, or the sound one of the latest iteration among several.
     *
     * @param scrutiny what makes one sound
     * @param skipped  is told of each later one that is not, and why
     * @throws UserException if there is none that is sound
     */
    public Checkpoint open(IntegrityCheck scrutiny, Consumer<String> skipped) {
        Optional<Path> directory = directory();
        if (directory.isEmpty()) {
            return Checkpoint.open(path, scrutiny);
        }
        return Checkpoint.newest(directory.get(), scrutiny, skipped).orElseThrow(() -> new UserException(
            "no checkpoint in " + directory.get() + " is sound; give another directory"));
    }

    /**
     * The checkpoint, or all of them, the latest iteration first; sound or not.
     *
     * @throws UserException if there is none
     */
    public List<Path> all() {
        return directory().map(Checkpoint::list).orElse(List.of(path));
    }

    /** The directory of checkpoints that the path stands for; none if it is a checkpoint itself. */
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
