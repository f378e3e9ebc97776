package org.isobar.bundle;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;

import org.isobar.fault.UserException;

/** Packs a directory as a {@code .tar.xz} with the system's {@code tar} and {@code xz}. */
final class Archive {
    /** Level 0 takes a third of the time, and makes the archive larger by an eighth. */
    private static final String XZ_OPTIONS = "-2 --threads=0";

    private Archive() { }

    /**
     * Writes the archive. Its bytes depend on file names and contents only: files are sorted, owned by user 0, readable
     * by all, and have the same time. The variable XZ_OPT, if it is set, chooses the level of compression.
     *
     * @param directory the directory to pack, under its own name
     * @param out       receives the archive; is not closed
     * @param time      the time of every file, in UTC
     * @throws UserException if there is no {@code tar} or no {@code xz}
     */
    static void write(Path directory, OutputStream out, LocalDateTime time) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(List.of("tar", "--create", "--xz", "--file=-", "--sort=name",
            "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go-w,a+rX", "--mtime=" + time + "Z",
            "--directory=" + directory.getParent(), directory.getFileName().toString()));
        builder.environment().putIfAbsent("XZ_OPT", XZ_OPTIONS);
        Path errors = directory.resolveSibling("tar.err"); // tar would block on a full pipe that is not read
        Process tar = start(builder.redirectError(errors.toFile()));
        try {
            tar.getInputStream().transferTo(out);
            if (tar.waitFor() != 0) {
                throw new UserException("tar cannot make the archive; it needs GNU tar and xz: "
                    + Files.readString(errors).strip());
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", interrupted);
        } finally {
            tar.destroy();
        }
    }

    private static Process start(ProcessBuilder builder) {
        try {
            return builder.start();
        } catch (IOException absent) {
            throw new UserException("packing a bundle needs tar and xz, and there is no tar on the PATH; install both",
                absent);
        }
    }
}
