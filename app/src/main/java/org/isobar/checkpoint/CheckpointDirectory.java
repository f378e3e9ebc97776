package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/** A directory of checkpoints as a whole. */
public final class CheckpointDirectory {
    private CheckpointDirectory() { }

    /**
     * Gives a checkpoint its name again if a run was killed while it replaced that by another of the same iteration;
     * deletes it if the other has the name. Rank 0 calls it, holding the run's {@link RunLock}, before it looks for
     * checkpoints.
     *
     * @param directory of checkpoints; need not be there
     * @throws org.isobar.fault.UserException if the directory cannot be read, or such a checkpoint not renamed or
     * deleted
     */
    public static void recover(Path directory) {
        try {
            CheckpointFiles.restoreReplaced(directory);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return; // no checkpoints
        } catch (IOException e) {
            throw FileFault.unwritable("directory " + directory, "--expdir", e);
        }
    }

    /**
     * Makes way for a run that begins behind an iteration, or with its first step, behind -1: what is named like a
     * checkpoint of a later one, sound or not, moves to the first of {@code directory-1}, {@code directory-2} and so on
     * that is not there yet. Nothing is lost, and nothing old is mistaken for new. The run's {@link RunLock} must be
     * held, and lies elsewhere.
     *
     * @return where it is now; none if there was nothing to set aside
     * @throws org.isobar.fault.UserException if the directory cannot be read, or anything in it not moved
     */
    public static Optional<Path> setAside(Path directory, long iteration) {
        List<Path> checkpoints;
        try {
            checkpoints = CheckpointFiles.entries(directory).stream()
                .filter(entry -> CheckpointFiles.iteration(entry).isPresent()).toList();
        } catch (NoSuchFileException | NotDirectoryException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoints in " + directory, e);
        }
        List<Path> later = checkpoints.stream()
            .filter(path -> CheckpointFiles.iteration(path).orElseThrow() > iteration).toList();
        if (later.isEmpty()) {
            return Optional.empty();
        }
        try {
            Path aside = firstFree(directory.toAbsolutePath());
            if (later.equals(checkpoints)) { // at one go
                Files.move(directory, aside, StandardCopyOption.ATOMIC_MOVE);
            } else {
                for (Path path : later) {
                    Files.move(path, aside.resolve(path.getFileName()), StandardCopyOption.ATOMIC_MOVE);
                }
            }
            AtomicFile.forceDirectory(aside.getParent());
            return Optional.of(directory.resolveSibling(aside.getFileName()));
        } catch (IOException e) {
            throw FileFault.unwritable("directory " + directory, "--expdir", e);
        }
    }

    private static Path firstFree(Path directory) throws IOException {
        for (int number = 1; ; number++) {
            try {
                return Files.createDirectory(directory.resolveSibling(directory.getFileName() + "-" + number));
            } catch (FileAlreadyExistsException e) {
                continue; // from a run before: the next number
            }
        }
    }
}
