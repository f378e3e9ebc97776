package org.isobar.bundle;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;

import org.isobar.fault.UserException;

/** A directory as a {@code .tar.xz}, by the system's {@code tar} and {@code xz}. */
final class Archive {
    /** Level 0 takes half the time and makes the archive a tenth larger. */
    private static final String XZ_OPTIONS = "-2 --threads=0";

    private Archive() { }

    /**
     * Writes the archive. Its bytes depend on names and contents alone: files are sorted, belong to nobody, may be read
     * by all and bear the same time.
     *
     * @param directory what is packed, under its own name
     * @param out       where the archive goes; stays open
     * @param time      of every file, in UTC
     * @throws UserException if there is no {@code tar} or no {@code xz}
     */
    static void write(Path directory, OutputStream out, LocalDateTime time) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(List.of("tar", "--create", "--xz", "--file=-", "--sort=name",
            "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go-w,a+rX", "--mtime=" + time + "Z",
            "--directory=" + directory.getParent(), directory.getFileName().toString()));
        builder.environment().put("XZ_OPT", XZ_OPTIONS);
        Path errors = directory.resolveSibling("tar.err"); // a pipe that nobody reads could fill
        Process tar = start(builder.redirectError(errors.toFile()));
        try {
            tar.getInputStream().transferTo(out);
            if (tar.waitFor() != 0) {
                throw new UserException("tar cannot make the archive; it needs GNU tar and xz: "
                    + Files.readString(errors).strip());
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", stop);
        } finally {
            tar.destroy();
        }
    }

    private static Process start(ProcessBuilder builder) {
        try {
            return builder.start();
        } catch (IOException absent) {
            throw new UserException("a bundle is packed by tar and xz, and there is no tar on the PATH; install both",
                absent);
        }
    }
}
