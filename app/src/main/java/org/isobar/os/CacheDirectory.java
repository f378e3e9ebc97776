package org.isobar.os;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.fault.UserException;

/**
 * The program's directory for what it can make again: unpacked native libraries and compiled kernels. It is
 * {@code ISOBAR_CACHE}, else {@code isobar} in {@code XDG_CACHE_HOME}, else {@code .cache/isobar} in {@code HOME}.
 */
public final class CacheDirectory {
    /** The environment variable that names the directory. */
    public static final String VARIABLE = "ISOBAR_CACHE";

    private CacheDirectory() { }

    /**
     * Opens a subdirectory, which is created if it does not exist.
     *
     * @return its path without links; empty if the environment names no directory, or only a home in which nothing can
     *         be written
     * @throws UserException if others can change it, or if {@code ISOBAR_CACHE} cannot be written
     */
    public static Optional<Path> open(Map<String, String> environment, String name) {
        Optional<Path> cache = path(environment);
        if (cache.isEmpty()) {
            return Optional.empty();
        }
        try {
            Path directory = PrivateDirectory.open(cache.get().resolve(name), VARIABLE);
            if (!Files.isWritable(directory)) {
                throw new AccessDeniedException(directory.toString());
            }
            return Optional.of(directory);
        } catch (IOException failure) {
            if (own(environment).isPresent()) {
                throw FileFault.unwritable("cache " + cache.get(), VARIABLE, failure);
            }
            return Optional.empty();
        }
    }

    /** The directory that the environment names. The XDG specification ignores relative paths. */
    static Optional<Path> path(Map<String, String> environment) {
        return own(environment).map(Path::toAbsolutePath).or(() -> Stream.of(
                named(environment, "XDG_CACHE_HOME").map(caches -> caches.resolve("isobar")),
                named(environment, "HOME").map(home -> home.resolve(".cache", "isobar")))
            .flatMap(Optional::stream).filter(Path::isAbsolute).findFirst());
    }

    private static Optional<Path> own(Map<String, String> environment) {
        return named(environment, VARIABLE);
    }

    private static Optional<Path> named(Map<String, String> environment, String variable) {
        return Optional.ofNullable(environment.get(variable)).filter(value -> !value.isBlank()).map(Path::of);
    }
}
