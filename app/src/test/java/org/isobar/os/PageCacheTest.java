package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Prefetching reads the whole range from disk, once. */
class PageCacheTest {
    private static final int BYTES = 24 << 20; // more than the read-ahead window of any disk
    private static final int BLOCK = 512; // getrusage(2)

    @TempDir
    private Path directory;

    @Test
    void prefetchedDataIsReadFromDisk() throws IOException, InterruptedException {
        Path path = directory.resolve("numbers");
        byte[] bytes = new byte[BYTES];
        bytes[BYTES - 1] = 7;
        Files.write(path, bytes);
        PageCacheControl.drop(path);
        PageCache pages = new PageCache();
        int from = 5000;
        int asked = BYTES - 9000;
        try (FileChannel file = FileChannel.open(path); Arena arena = Arena.ofConfined()) {
            MemorySegment mapped = file.map(FileChannel.MapMode.READ_ONLY, 100, BYTES - 100, arena);
            long before = pages.blocksRead();
            PageCache.willNeed(mapped, from, asked);
            long after = pages.blocksRead();
            assertTrue(after - before >= asked / BLOCK, (after - before) + " blocks read");
            PageCache.willNeed(mapped, from, asked);
            assertEquals(after, pages.blocksRead());
            assertEquals(7, mapped.get(ValueLayout.JAVA_BYTE, BYTES - 101));
        }
    }

    @Test
    void prefetchingZeroBytesReadsNothing() throws IOException, InterruptedException {
        Path path = directory.resolve("numbers");
        Files.write(path, new byte[1 << 20]);
        PageCacheControl.drop(path);
        PageCache pages = new PageCache();
        try (FileChannel file = FileChannel.open(path); Arena arena = Arena.ofConfined()) {
            MemorySegment mapped = file.map(FileChannel.MapMode.READ_ONLY, 0, 1 << 20, arena);
            long before = pages.blocksRead();
            PageCache.willNeed(mapped, 8192, 0);
            assertEquals(before, pages.blocksRead());
        }
    }
}
