package org.isobar.telemetry;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * The file {@code metrics.jsonl} of a run: one JSON object a line. Each has its {@code kind}, the {@code time} when it
 * was written, and {@code step}, the number of training steps done by then. A line is written at once, so a killed
 * process leaves complete lines.
 */
public final class MetricsFile implements AutoCloseable {
    /** Name of the file in a run's directory. */
    public static final String NAME = "metrics.jsonl";
    /** The kind of the line that is written when a checkpoint is saved. */
    public static final String CHECKPOINT = "checkpoint";
    private static final JsonMapper JSON = new JsonMapper();
    private static final long ALL = -1;

    private final Path file;
    private final FileChannel channel;

    private MetricsFile(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /**
     * Appends to the file in {@code directory}, or creates it. An incomplete last line is removed.
     *
     * @throws UserException if the file cannot be written, or is a symbolic link or a pipe
     */
    public static MetricsFile append(Path directory) {
        return open(directory.resolve(NAME), ALL);
    }

    /**
     * Continues the file in {@code directory} after the line of the checkpoint that a run resumes from. Later lines are
     * removed, because the steps that they describe are done again. If the file has no line of that checkpoint, the
     * lines of later steps are removed.
     *
     * @param step number of training steps done when the checkpoint was saved
     * @throws UserException if the file cannot be written, or is a symbolic link or a pipe
     */
    public static MetricsFile resume(Path directory, long step) {
        return open(directory.resolve(NAME), step);
    }

    private static MetricsFile open(Path file, long step) {
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            RegularFile.refusePipe(file);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
            try {
                long end = kept(content(channel), step);
                channel.truncate(end).position(end);
                return new MetricsFile(file, channel);
            } catch (IOException e) {
                channel.close();
                throw e;
            }
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private static byte[] content(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(channel.size()));
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) >= 0) {
            continue;
        }
        return bytes.array();
    }

    /** The number of bytes that are kept if the run continues at {@code step}. */
    private static int kept(byte[] content, long step) {
        int checkpoint = -1; // end of its line
        int earlier = 0; // end of the lines before the first of a later step
        boolean later = false;
        int start = 0;
        for (int i = 0; i < content.length; i++) {
            if (content[i] == '\n') {
                JsonNode line = step == ALL ? JSON.nullNode() : parse(content, start, i);
                start = i + 1;
                later |= line.path("step").asLong() > step && step != ALL;
                earlier = later ? earlier : start;
                if (line.path("step").asLong(ALL) == step && line.path("kind").asText().equals(CHECKPOINT)) {
                    checkpoint = start;
                }
            }
        }
        return checkpoint < 0 ? earlier : checkpoint;
    }

    private static JsonNode parse(byte[] content, int start, int end) {
        try {
            return JSON.readTree(content, start, end - start);
        } catch (IOException damaged) {
            return JSON.nullNode();
        }
    }

    /**
     * Writes a line.
     *
     * @param kind   of the line
     * @param step   number of training steps done
     * @param values further fields, in their order; of types that Jackson converts, an absent one is null
     * @throws UserException if the file cannot be written
     */
    public synchronized void line(String kind, long step, Map<String, ?> values) {
        ObjectNode line = JSON.createObjectNode().put("kind", kind)
            .put("time", Instant.now().truncatedTo(ChronoUnit.MILLIS).toString()).put("step", step);
        values.forEach((name, value) -> line.set(name, JSON.valueToTree(value)));
        try {
            ByteBuffer bytes = ByteBuffer.wrap((JSON.writeValueAsString(line) + "\n")
                .getBytes(StandardCharsets.UTF_8));
            AtomicFile.writeFully(channel, bytes);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    @Override
    public void close() {
        try (channel) {
            channel.force(false);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private static UserException unwritable(Path file, IOException e) {
        return FileFault.unwritable("metrics " + file, "--expdir", e);
    }
}
