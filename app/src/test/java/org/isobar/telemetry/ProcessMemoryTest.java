package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.List;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** The kernel as it is, and as it may be. */
class ProcessMemoryTest {
    private static final long MIB = 1 << 20;

    @Test
    void readsTheKernelsLines() {
        ProcessMemory memory = ProcessMemory.parse(List.of("Name:\tjava", "VmPeak:\t    9999 kB", "VmHWM:\t    1932 kB",
            "VmRSS:\t    1931 kB", "RssAnon:\t     148 kB", "RssFile:\t    1783 kB", "RssShmem:\t       0 kB"));
        assertEquals(new ProcessMemory(1932 * 1024, 1931 * 1024, 148 * 1024, 1783 * 1024), memory);
    }

    @Test
    void saysWhatTheKernelDoesNotTell() {
        UserException failure = assertThrows(UserException.class,
            () -> ProcessMemory.parse(List.of("VmHWM:\t    1932 kB", "VmRSS:\t    1931 kB")));
        assertEquals("/proc/self/status has no line \"RssAnon:\"; Linux 4.5 or newer has it", failure.getMessage());
    }

    @Test
    void theWatermarkStaysWhenMemoryIsGivenBack() {
        MemoryWatermark watermark = new MemoryWatermark();
        ProcessMemory before = watermark.sample();
        assertTrue(before.peak() >= before.resident() && before.resident() >= before.anonymous());
        long held = 64 * MIB;
        try (Arena arena = Arena.ofConfined()) {
            arena.allocate(held).fill((byte) 1);
            watermark.sample();
        }
        ProcessMemory after = watermark.sample();
        assertTrue(watermark.anonymousWatermark() >= before.anonymous() + held / 2, "kept the height");
        assertTrue(after.anonymous() <= watermark.anonymousWatermark() - held / 2, "gave the memory back");
        assertTrue(watermark.highWatermark() >= before.peak());
    }
}
