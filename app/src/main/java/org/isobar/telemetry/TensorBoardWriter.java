package org.isobar.telemetry;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;

import com.google.protobuf.CodedOutputStream;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.HostMachine;

/**
 * Writes a TensorBoard event file. Events are those of PyTorch's {@code SummaryWriter}: one value in each event,
 * scalars as {@code simple_value}, images as {@code image}. Field numbers are those of TensorFlow's
 * {@code event.proto} and {@code summary.proto}.
 *
 * <p>Every event is written immediately, so that TensorBoard can show the file during training. After a failed write
 * the file is truncated to its last complete event.
 */
public final class TensorBoardWriter implements AutoCloseable {
    private static final int EVENT_WALL_TIME = 1;
    private static final int EVENT_STEP = 2;
    private static final int EVENT_FILE_VERSION = 3;
    private static final int EVENT_SUMMARY = 5;
    private static final int SUMMARY_VALUE = 1;
    private static final int VALUE_TAG = 1;
    private static final int VALUE_SIMPLE = 2;
    private static final int VALUE_IMAGE = 4;
    private static final int IMAGE_HEIGHT = 1;
    private static final int IMAGE_WIDTH = 2;
    private static final int IMAGE_COLORSPACE = 3;
    private static final int IMAGE_ENCODED = 4;
    private static final int RGB = 3;
    private static final double NANOS_PER_SECOND = 1e9;

    private final Path file;
    private final FileChannel channel;
    private final InstantSource clock;

    TensorBoardWriter(Path file, FileChannel channel, InstantSource clock) {
        this.file = file;
        this.channel = channel;
        this.clock = clock;
    }

    /**
     * Creates an event file in {@code directory}, which is created if it does not exist.
     *
     * @throws UserException if the file cannot be written
     */
    public static TensorBoardWriter open(Path directory) {
        return open(directory, InstantSource.system());
    }

    static TensorBoardWriter open(Path directory, InstantSource clock) {
        try {
            Files.createDirectories(directory);
            String name = "events.out.tfevents.%010d.%s.%d.".formatted(clock.instant().getEpochSecond(),
                HostMachine.name(), ProcessHandle.current().pid());
            TensorBoardWriter writer = create(directory, name, clock);
            writer.begin();
            return writer;
        } catch (IOException e) {
            throw unwritable(directory, e);
        }
    }

    /**
     * Continues an event file after truncating it to its first {@code bytes} bytes: those that an earlier run had
     * written when it saved the checkpoint that this one resumes from. If there is no such file, it is a link, or these
     * bytes are not complete events, creates a new file in its directory.
     *
     * @throws UserException if the file, or a new one, cannot be written
     */
    public static TensorBoardWriter resume(Path file, long bytes) {
        return resume(file, bytes, InstantSource.system());
    }

    static TensorBoardWriter resume(Path file, long bytes, InstantSource clock) {
        try {
            if (beginsWithEvents(file, bytes)) {
                return new TensorBoardWriter(file, truncate(file, bytes), clock);
            }
        } catch (IOException e) {
            throw unwritable(file, e);
        }
        return open(file.toAbsolutePath().getParent(), clock);
    }

    private static boolean beginsWithEvents(Path file, long bytes) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) || Files.size(file) < bytes) {
            return false;
        }
        try (InputStream stream = new BufferedInputStream(Files.newInputStream(file))) {
            return TfRecord.areNext(stream, bytes);
        }
    }

    private static FileChannel truncate(Path file, long bytes) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        try {
            return channel.truncate(bytes).position(bytes);
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    /** Creates a file whose name ends with the number of files that this process opened within the same second. */
    private static TensorBoardWriter create(Path directory, String name, InstantSource clock) throws IOException {
        for (int count = 0; ; count++) {
            Path file = directory.resolve(name + count);
            try {
                return new TensorBoardWriter(file,
                    FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), clock);
            } catch (FileAlreadyExistsException e) {
                continue; // of another writer in this process: try the next number
            }
        }
    }

    /** Writes the event with the format version. On failure closes the file, as no caller has the writer yet. */
    private void begin() throws IOException {
        try {
            event(event -> event.writeString(EVENT_FILE_VERSION, "brain.Event:2"));
        } catch (UserException failure) {
            channel.close();
            throw failure;
        }
    }

    /** The event file. */
    public Path file() {
        return file;
    }

    /**
     * Size of the file in bytes, with all events so far.
     *
     * @throws UserException if the size cannot be read
     */
    public synchronized long bytes() {
        try {
            return channel.position();
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    /**
     * Writes a number at a step.
     *
     * @throws UserException if the file cannot be written
     */
    public void scalar(String tag, double value, long step) {
        value(tag, step, message -> message.writeFloat(VALUE_SIMPLE, (float) value));
    }

    /**
     * Writes an image at a step: RGB, {@code height} x {@code width} pixels, encoded as PNG.
     *
     * @throws UserException if the file cannot be written
     */
    public void image(String tag, byte[] png, int height, int width, long step) {
        value(tag, step, message -> message.writeByteArray(VALUE_IMAGE, encode(image -> {
            image.writeInt32(IMAGE_HEIGHT, height);
            image.writeInt32(IMAGE_WIDTH, width);
            image.writeInt32(IMAGE_COLORSPACE, RGB);
            image.writeByteArray(IMAGE_ENCODED, png);
        })));
    }

    /**
     * Forces all events to disk.
     *
     * @throws UserException if they cannot be written
     */
    public void flush() {
        try {
            channel.force(false);
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

    private void value(String tag, long step, Fields fields) {
        event(event -> {
            if (step != 0) { // proto3 omits fields of value 0
                event.writeInt64(EVENT_STEP, step);
            }
            byte[] value = encode(message -> {
                message.writeString(VALUE_TAG, tag);
                fields.write(message);
            });
            event.writeByteArray(EVENT_SUMMARY, encode(summary -> summary.writeByteArray(SUMMARY_VALUE, value)));
        });
    }

    private synchronized void event(Fields fields) {
        try {
            Instant now = clock.instant();
            long end = channel.position();
            byte[] event = encode(message -> {
                message.writeDouble(EVENT_WALL_TIME, now.getEpochSecond() + now.getNano() / NANOS_PER_SECOND);
                fields.write(message);
            });
            append(TfRecord.frame(event), end);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private void append(ByteBuffer record, long end) throws IOException {
        try {
            AtomicFile.writeFully(channel, record);
        } catch (IOException e) {
            truncateAfterFailure(end, e);
            throw e;
        }
    }

    private void truncateAfterFailure(long end, IOException cause) {
        try {
            channel.truncate(end);
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    /** The fields of a protocol buffer message. */
    private interface Fields {
        void write(CodedOutputStream message) throws IOException;
    }

    private static byte[] encode(Fields fields) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream message = CodedOutputStream.newInstance(bytes);
        fields.write(message);
        message.flush();
        return bytes.toByteArray();
    }

    private static UserException unwritable(Path path, IOException e) {
        return FileFault.unwritable("TensorBoard events to " + path, "--expdir", e);
    }
}
