package org.isobar.evaluation;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Stream;

import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * The scores of an unfinished evaluation, as files in the directory {@code unfinished} of the results: one for each
 * part of the initial times, so that an evaluation that was ended continues after the last of them.
 */
final class SavedParts {
    private static final String IDENTITY = "identity.txt";
    private static final String SUFFIX = ".scores";

    private final Path directory;
    private final String option;
    private long tag; // of the evaluation, at the beginning of its parts

    /**
     * The parts of results.
     *
     * @param out    directory of the results
     * @param option the command-line option that selects another directory, for error messages
     */
    SavedParts(Path out, String option) {
        directory = out.resolve("unfinished");
        this.option = option;
    }

    /**
     * Prepares the directory.
     *
     * @param identity names everything that the scores depend on; parts of another identity are deleted
     */
    void begin(String identity) {
        writing(() -> {
            Files.createDirectories(directory);
            Path file = directory.resolve(IDENTITY);
            AtomicFile.deleteTemporaries(file);
            tag = UUID.nameUUIDFromBytes(identity.getBytes(StandardCharsets.UTF_8)).getMostSignificantBits();
            if (!Files.exists(file) || !Files.readString(file).equals(identity)) {
                deleteParts();
                AtomicFile.replace(file, channel -> AtomicFile.writeFully(channel,
                    ByteBuffer.wrap(identity.getBytes(StandardCharsets.UTF_8))));
            }
        });
    }

    /** Whether a part is saved, and not by another evaluation that writes to the same directory. */
    boolean has(int part, PartialScores scores) {
        if (!Files.exists(file(part))) {
            return false;
        }
        try (DataInputStream in = new DataInputStream(Files.newInputStream(file(part)))) {
            return Files.size(file(part)) == bytes(scores) && in.readLong() == tag;
        } catch (IOException failure) {
            throw FileFault.unreadable("scores " + file(part), failure);
        }
    }

    /** Saves a part. */
    void write(int part, PartialScores scores) {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(bytes(scores))).putLong(tag)
            .order(ByteOrder.LITTLE_ENDIAN);
        for (double[] numbers : scores.numbers()) {
            bytes.asDoubleBuffer().put(numbers);
            bytes.position(bytes.position() + numbers.length * Double.BYTES);
        }
        bytes.flip();
        writing(() -> AtomicFile.replace(file(part), channel -> AtomicFile.writeFully(channel, bytes)));
    }

    /** Reads a part into scores of its extents. */
    void read(int part, PartialScores scores) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file(part))).position(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
            for (double[] numbers : scores.numbers()) {
                bytes.asDoubleBuffer().get(numbers);
                bytes.position(bytes.position() + numbers.length * Double.BYTES);
            }
        } catch (IOException failure) {
            throw FileFault.unreadable("scores " + file(part), failure);
        }
    }

    /** Deletes the directory when the results are written. */
    void delete() {
        writing(() -> {
            deleteParts();
            Files.deleteIfExists(directory.resolve(IDENTITY));
            Files.deleteIfExists(directory);
        });
    }

    private void deleteParts() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(path -> path.getFileName().toString().contains(SUFFIX)).toList()) {
                Files.delete(file);
            }
        }
    }

    private static long bytes(PartialScores scores) {
        return Long.BYTES + scores.numbers().stream().mapToLong(numbers -> (long) numbers.length * Double.BYTES).sum();
    }

    private Path file(int part) {
        return directory.resolve(String.format(Locale.ROOT, "%05d%s", part, SUFFIX));
    }

    /** Writes files. */
    private interface Writing {
        void run() throws IOException;
    }

    private void writing(Writing action) {
        try {
            action.run();
        } catch (IOException failure) {
            throw FileFault.unwritable("scores " + directory, option, failure);
        }
    }
}
