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

/** Prepares a directory of checkpoints for a run that starts or resumes. */
public final class CheckpointDirectory {
    private CheckpointDirectory() { }

    /**
     * Repairs a replacement that was interrupted: if a run was killed while it replaced a checkpoint by another of the
     * same iteration, renames the old one back, or deletes it if the new one is in place. Rank 0 calls it before it
     * lists checkpoints, while holding the run's {@link RunLock}.
     *
     * @param directory directory of checkpoints; it need not exist
     * @throws org.isobar.fault.UserException if the directory cannot be read, or a checkpoint cannot be renamed or
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
     * Moves checkpoints of later iterations out of the way of a run that starts after {@code iteration}; -1 for a run
     * that starts with its first step. Every entry named like a later checkpoint, damaged or not, moves to the first of
     * {@code directory-1}, {@code directory-2} and so on that does not exist. Nothing is deleted, and no old checkpoint
     * can be mistaken for a new one. If {@code directory} is a symbolic link, the link stays, and the new directory is
     * next to the one that it refers to. The run's {@link RunLock} must be held; its file is outside this directory.
     *
     * @return the new directory; empty if there was nothing to move
     * @throws org.isobar.fault.UserException if the directory cannot be read, or an entry cannot be moved
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
            boolean linked = Files.isSymbolicLink(directory);
            Path aside = firstFree(linked ? directory.toRealPath() : directory.toAbsolutePath());
            if (later.equals(checkpoints) && !linked) { // all of them: a single rename
                Files.move(directory, aside, StandardCopyOption.ATOMIC_MOVE);
            } else {
                for (Path path : later) {
                    Files.move(path, aside.resolve(path.getFileName()), StandardCopyOption.ATOMIC_MOVE);
                }
            }
            AtomicFile.forceDirectory(aside.getParent());
            return Optional.of(linked ? aside : directory.resolveSibling(aside.getFileName()));
        } catch (IOException e) {
            throw FileFault.unwritable("directory " + directory, "--expdir", e);
        }
    }

    private static Path firstFree(Path directory) throws IOException {
        for (int number = 1; ; number++) {
            try {
                return Files.createDirectory(directory.resolveSibling(directory.getFileName() + "-" + number));
            } catch (FileAlreadyExistsException e) {
                continue; // of an earlier run: try the next number
            }
        }
    }
}
