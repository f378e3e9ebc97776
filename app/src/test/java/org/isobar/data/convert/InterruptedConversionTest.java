package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;

import org.isobar.data.survey.ChannelStatistics;
import org.isobar.data.survey.ScanObserver;
import org.isobar.data.survey.StatisticsScan;
import org.isobar.data.survey.YearFiles;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A conversion goes on inside a year, with what is on the disk at a moment at which it could have been killed. */
class InterruptedConversionTest {
    private static final String PART = "2019.h5.part";
    private static final String RECORD = "2019.h5.part.json";
    private static final int WAIT_MILLIS = 5;
    private static final int MOST_WAITS = 4000;
    private static final int FRAMES = 8;
    private static final int SPOILED = 64; // bytes

    @TempDir
    private Path directory;
    private Path source;
    private Path killed;
    private byte[] whole;

    /** Converts, and copies the directory as it is when the first record has been written. */
    @BeforeEach
    void killedConversion() throws IOException {
        source = ClassicFile.weather(FRAMES).write(directory.resolve("a.nc"));
        Path to = directory.resolve("to");
        killed = Files.createDirectory(directory.resolve("killed"));
        convert(to, "t2m,z500", (done, total) -> {
            if (done > 0) {
                copyRecorded(to);
            }
        });
        whole = Files.readAllBytes(to.resolve("2019.h5"));
        assertTrue(Files.exists(killed.resolve(RECORD)));
        assertFalse(Files.exists(to.resolve(PART)) || Files.exists(to.resolve(RECORD)));
    }

    private synchronized void copyRecorded(Path to) {
        if (Files.exists(killed.resolve(RECORD))) {
            return;
        }
        try {
            for (int wait = 0; !Files.exists(to.resolve(RECORD)); wait++) {
                assertTrue(wait < MOST_WAITS, "no record");
                Thread.sleep(WAIT_MILLIS);
            }
            Files.copy(to.resolve(RECORD), killed.resolve(RECORD)); // first: the file may be ahead of it
            Files.copy(to.resolve(PART), killed.resolve(PART));
            Files.copy(to.resolve("conversion.json"), killed.resolve("conversion.json"));
        } catch (IOException | InterruptedException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Bytes that a conversion has when it begins. */
    private long continued(String variables) throws IOException {
        AtomicLong first = new AtomicLong(-1);
        convert(killed, variables, (done, total) -> first.compareAndSet(-1, done));
        assertFalse(Files.exists(killed.resolve(PART)) || Files.exists(killed.resolve(RECORD)));
        return first.get();
    }

    @Test
    void whatIsRecordedIsNotConvertedAgain() throws IOException {
        assertTrue(continued("t2m,z500") > 0);
        assertArrayEquals(whole, Files.readAllBytes(killed.resolve("2019.h5")));
        requireStatisticsOfFiles(killed);
    }

    @Test
    void statisticsAreThoseOfTheFiles() {
        requireStatisticsOfFiles(directory.resolve("to"));
    }

    /** Fails unless the statistics have the bits of those that are computed from the files when they are whole. */
    private void requireStatisticsOfFiles(Path converted) {
        try (YearFiles years = YearFiles.open(List.of(converted))) {
            Path expected = directory.resolve("expected");
            StatisticsScan.of(years, (done, total) -> { }).write(expected, "--out");
            for (String name : ChannelStatistics.fileNames()) {
                assertEquals(-1, Files.mismatch(expected.resolve(name), converted.resolve("stats/" + name)), name);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Test
    void otherSourcesAreConvertedFromTheBeginning() throws IOException {
        Files.setLastModifiedTime(source, FileTime.fromMillis(1_000_000_000));
        spoil();
        assertEquals(0, continued("t2m,z500"));
        assertArrayEquals(whole, Files.readAllBytes(killed.resolve("2019.h5")));
    }

    @Test
    void otherSettingsAreConvertedFromTheBeginning() throws IOException {
        Files.delete(killed.resolve("conversion.json"));
        spoil();
        assertEquals(0, continued("z500,t2m"));
    }

    @Test
    void aDamagedRecordIsLeftOut() throws IOException {
        Files.writeString(killed.resolve(RECORD), "{\"fingerprint\"");
        spoil();
        assertEquals(0, continued("t2m,z500"));
        assertArrayEquals(whole, Files.readAllBytes(killed.resolve("2019.h5")));
    }

    @Test
    void aFileThatAnotherConversionWritesIsLeftAlone() throws IOException {
        try (FileChannel other = FileChannel.open(killed.resolve(PART), StandardOpenOption.WRITE)) {
            assertTrue(other.lock().isValid());
            byte[] before = Files.readAllBytes(killed.resolve(PART));
            String message = assertThrows(UserException.class, () -> continued("t2m,z500")).getMessage();
            assertTrue(message.contains("another process is writing " + killed.resolve(PART)), message);
            assertArrayEquals(before, Files.readAllBytes(killed.resolve(PART)));
        }
    }

    @Test
    void aLinkIsNotFollowed() throws IOException {
        Path other = Files.writeString(directory.resolve("other"), "mine");
        Files.delete(killed.resolve(PART));
        Files.createSymbolicLink(killed.resolve(PART), other);
        assertTrue(assertThrows(UserException.class, () -> continued("t2m,z500")).getMessage()
            .contains("a symbolic link, which is not followed"));
        assertEquals("mine", Files.readString(other));
    }

    /** Overwrites the values, so that they are wrong if they are kept. */
    private void spoil() throws IOException {
        try (RandomAccessFile part = new RandomAccessFile(killed.resolve(PART).toFile(), "rw")) {
            part.getChannel().write(ByteBuffer.wrap(new byte[SPOILED]), whole.length - SPOILED);
        }
    }

    private void convert(Path to, String variables, ScanObserver progress) {
        ConversionRequest request = new ConversionRequest(List.of(source.toString()), to,
            List.of(variables.split(",")), Optional.empty(), new TreeSet<>(), new TreeSet<>(), 0, "", 1, "", false,
            false);
        try (Conversion conversion = Conversion.plan(request, 1)) {
            conversion.run(progress, (path, frames, bytes, kept) -> { });
        }
    }
}
