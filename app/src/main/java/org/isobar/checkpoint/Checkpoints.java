package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/** A directory of checkpoints as a whole. */
public final class Checkpoints {
    private Checkpoints() { }

    /**
     * Makes way for a run that begins anew: a directory with anything named like a checkpoint in it, sound or not, is
     * renamed to the first of {@code directory-1}, {@code directory-2} and so on that is not there yet. Nothing is
     * lost, and nothing old is mistaken for new. The run's {@link RunLock} must be held, and lies elsewhere.
     *
     * @return the new name; none if there was nothing to set aside
     * @throws UserException if the directory cannot be read or renamed
     */
    public static Optional<Path> setAside(Path directory) {
        try {
            if (Folder.entries(directory).stream().allMatch(entry -> Folder.iteration(entry).isEmpty())) {
                return Optional.empty();
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoints in " + directory, e);
        }
        try {
            Path aside = rename(directory.toAbsolutePath());
            return Optional.of(directory.resolveSibling(aside.getFileName()));
        } catch (IOException e) {
            throw FileFault.unwritable("directory " + directory, "--expdir", e);
        }
    }

    private static Path rename(Path directory) throws IOException {
        for (int number = 1; ; number++) {
            Path aside = directory.resolveSibling(directory.getFileName() + "-" + number);
            try {
                Files.move(directory, aside);
                AtomicFile.forceDirectory(directory.getParent());
                return aside;
            } catch (FileAlreadyExistsException e) {
                continue; // from a run before: the next number
            }
        }
    }
}
