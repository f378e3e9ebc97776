package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;

/** Memory is zero, writable, and freed with its arena. */
class ZeroPagesTest {
    private static final long BYTES = (1 << 20) + 3;
    private static final int PAGE = 4096;

    @Test
    void memoryIsZeroAndWritable() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = ZeroPages.allocate(arena, BYTES);
            assertEquals(BYTES, memory.byteSize());
            assertEquals(0, memory.address() % PAGE);
            assertEquals(-1, memory.mismatch(arena.allocate(BYTES)));
            memory.set(ValueLayout.JAVA_BYTE, BYTES - 1, (byte) 7);
            assertEquals(7, memory.get(ValueLayout.JAVA_BYTE, BYTES - 1));
        }
    }

    @Test
    void itIsFreedWithItsArena() throws IOException {
        MemorySegment memory;
        try (Arena arena = Arena.ofConfined()) {
            memory = ZeroPages.allocate(arena, 1L << 32);
            assertTrue(middleIsMapped(memory));
        }
        assertFalse(middleIsMapped(memory));
        assertThrows(IllegalStateException.class, () -> memory.get(ValueLayout.JAVA_BYTE, 0));
    }

    /** Other threads may soon have memory at the begin or the end of what was freed. */
    private static boolean middleIsMapped(MemorySegment memory) throws IOException {
        long middle = memory.address() + memory.byteSize() / 2;
        return Files.readAllLines(Path.of("/proc/self/maps")).stream().map(line -> line.split("[- ]"))
            .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= middle
                && middle < Long.parseUnsignedLong(range[1], 16));
    }

    @Test
    void nothingMayBeAllocated() {
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(0, ZeroPages.allocate(arena, 0).byteSize());
        }
    }

    @Test
    void refusalIsOutOfMemory() {
        try (Arena arena = Arena.ofConfined()) {
            assertThrows(OutOfMemoryError.class, () -> ZeroPages.allocate(arena, Long.MAX_VALUE / 2));
        }
    }
}
