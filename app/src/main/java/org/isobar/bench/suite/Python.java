package org.isobar.bench.suite;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Finds a Python that has what a script needs. */
public final class Python {
    private static final int PATIENCE_SECONDS = 60; // PyTorch's first import from a cold disk

    private Python() { }

    /** The first of the user's, python3 and /usr/bin/python3 that can import {@code modules} ("h5py, numpy"). */
    public static Optional<String> with(String modules, Optional<String> users) {
        return Stream.concat(users.stream(), Stream.of("python3", "/usr/bin/python3"))
            .filter(python -> imports(python, modules)).findFirst();
    }

    private static boolean imports(String python, String modules) {
        try {
            Process process = new ProcessBuilder(python, "-c", "import " + modules).redirectErrorStream(true)
                .redirectOutput(Redirect.DISCARD).start();
            try {
                return process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException absent) {
            return false;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
