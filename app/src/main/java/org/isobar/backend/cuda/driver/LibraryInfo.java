package org.isobar.backend.cuda.driver;

import java.nio.file.Path;
import java.util.Optional;

/**
 * What was found of one library.
 *
 * @param file    path of the library
 * @param version as the library or its file name reports it
 */
public record LibraryInfo(CudaComponent component, State state, Optional<Path> file, Optional<String> version) {
    /** Whether a library is installed. */
    public enum State {
        /** The needed version is installed. */
        FOUND,
        /** Only another version is installed. */
        WRONG,
        /** No version is installed. */
        MISSING
    }

    /** What is wrong with this library, for messages. Only defined if it was not found. */
    String problem() {
        return component.fileName() + (state == State.MISSING ? " is missing"
            : " is not here, only " + file.map(Path::toString).orElse("another version"))
            + " (needed for " + component.purpose() + ")";
    }
}
