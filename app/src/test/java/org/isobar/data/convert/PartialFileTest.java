package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a reader sees of a file that is being written. */
class PartialFileTest {
    private static final int BYTES = 4;

    @TempDir
    private Path directory;

    /** Neither lengthening nor mapping changes the last byte, which may be there already. */
    @Test
    void aMappedFileKeepsWhatIsWrittenAndShowsWhatFollows() throws IOException {
        Path path = directory.resolve("2020.h5");
        try (PartialFile file = PartialFile.open(path, "fingerprint"); Arena arena = Arena.ofConfined()) {
            file.lengthen(BYTES);
            file.channel().write(ByteBuffer.wrap(new byte[] {4}), BYTES - 1);
            file.lengthen(BYTES);
            MemorySegment mapped = file.map(0, BYTES, arena);
            file.channel().write(ByteBuffer.wrap(new byte[] {1, 2}), 0);
            assertArrayEquals(new byte[] {1, 2, 0, 4}, mapped.toArray(ValueLayout.JAVA_BYTE));
            file.finish();
        }
        assertArrayEquals(new byte[] {1, 2, 0, 4}, Files.readAllBytes(path));
    }
}
