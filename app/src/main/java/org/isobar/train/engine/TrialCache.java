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
 * Results of earlier trials, on disk. A file holds a checksum of the rest, the result, a line of text, and the key of
 * the trial, whose hash is the file's name. The directory is private to this user; a file that cannot be read or is
 * damaged counts as missing.
 */
final class TrialCache {
    private static final int HASH_BYTES = 16;

    private final String trials;
    private final String consequence;
    private final Optional<Path> directory;

    /**
     * Opens a directory of the {@link CacheDirectory}.
     *
     * @param trials      what was tried, which also names the directory
     * @param consequence what follows if the results cannot be kept, for a warning
     */
    TrialCache(Map<String, String> environment, String trials, String consequence) {
        this.trials = trials;
        this.consequence = consequence;
        directory = CacheDirectory.open(environment, trials);
    }

    /** The result of the trial with this key, if there was one. */
    Optional<String> read(String key) {
        if (directory.isEmpty()) {
            return Optional.empty();
        }
        try {
            String[] parts = Files.readString(file(key)).split("\n", 3);
            return parts.length == 3 && parts[0].equals(hash(parts[1] + "\n" + key)) && parts[2].equals(key)
                ? Optional.of(parts[1]) : Optional.empty();
        } catch (IOException absent) { // also bytes that are no text
            return Optional.empty();
        }
    }

    /** Writes the result of a trial; {@code note} receives why it cannot be written. */
    void write(String key, String result, Consumer<String> note) {
        if (directory.isEmpty()) {
            note.accept("The trial of " + trials + " is repeated at each start, because no cache directory can be "
                + "written" + consequence);
            return;
        }
        String text = result + "\n" + key;
        byte[] bytes = (hash(text) + "\n" + text).getBytes(StandardCharsets.UTF_8);
        try {
            AtomicFile.replace(file(key), channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(bytes)));
        } catch (IOException failure) {
            note.accept("The trial of " + trials + " is repeated at each start, because " + file(key)
                + " cannot be written" + consequence + ": " + failure);
        }
    }

    private Path file(String key) {
        return directory.orElseThrow().resolve(hash(key) + ".txt");
    }

    /** The first {@value #HASH_BYTES} bytes of the SHA-256 hash of a text, in hexadecimal digits. */
    static String hash(String text) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, HASH_BYTES);
        } catch (NoSuchAlgorithmException impossible) { // every Java runtime has it
            throw new AssertionError(impossible);
        }
    }
}
