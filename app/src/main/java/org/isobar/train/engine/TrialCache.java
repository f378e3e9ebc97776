package org.isobar.train.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.os.AtomicFile;
import org.isobar.os.CacheDirectory;

/**
 * Times of earlier trials of attention, on disk. A file holds two numbers and the key of the trial, whose hash is the
 * file's name. The directory is private to this user; a file that cannot be read counts as missing.
 */
final class TrialCache {
    private static final int NAME_BYTES = 16;

    private final Optional<Path> directory;

    /** Opens directory {@code attention} of the {@link CacheDirectory}. */
    TrialCache(Map<String, String> environment) {
        directory = CacheDirectory.open(environment, "attention");
    }

    /** The times of the trial with this key, if there was one. */
    Optional<AttentionTimes> read(String key) {
        if (directory.isEmpty()) {
            return Optional.empty();
        }
        try {
            String[] parts = Files.readString(file(key)).split("\n", 3);
            return parts.length == 3 && parts[2].equals(key)
                ? Optional.of(new AttentionTimes(Double.parseDouble(parts[0]), Double.parseDouble(parts[1])))
                : Optional.empty();
        } catch (IOException | NumberFormatException absent) {
            return Optional.empty();
        }
    }

    /** Writes the times of a trial; {@code note} receives why they cannot be written. */
    void write(String key, AttentionTimes times, Consumer<String> note) {
        directory.ifPresent(_ -> {
            byte[] text = (times.own() + "\n" + times.library() + "\n" + key).getBytes(StandardCharsets.UTF_8);
            try {
                AtomicFile.replace(file(key), channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(text)));
            } catch (IOException failure) {
                note.accept("The trial of attention is repeated at each start, because " + file(key)
                    + " cannot be written: " + failure);
            }
        });
    }

    private Path file(String key) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
            return directory.orElseThrow().resolve(HexFormat.of().formatHex(hash, 0, NAME_BYTES) + ".txt");
        } catch (NoSuchAlgorithmException impossible) { // every Java runtime has it
            throw new AssertionError(impossible);
        }
    }
}
