package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** Parses given lines of the kernel, and those of this machine. */
class HostMachineTest {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final long MIB = 1 << 20;

    @Test
    void readsTheKernelsLines() {
        List<String> lines = List.of("Name:\tjava", "VmPeak:\t    9999 kB", "VmHWM:\t    1932 kB", "RssAnon:\t 148 kB");
        assertEquals(1932 * 1024, HostMachine.size(STATUS, lines, "VmHWM"));
        assertEquals(148 * 1024, HostMachine.size(STATUS, lines, "RssAnon"));
    }

    @Test
    void bf16ProductsAreAProcessorFeature() {
        assertTrue(HostMachine.multipliesBf16(Set.of("fma", "avx512f", "avx512_bf16")));
        assertTrue(HostMachine.multipliesBf16(Set.of("asimd", "bf16")));
        assertFalse(HostMachine.multipliesBf16(Set.of("fma", "avx2", "avx512f")));
        assertEquals(HostMachine.multipliesBf16(HostMachine.processorFeatures()), HostMachine.multipliesBf16());
    }

    @Test
    void aNameWithoutANumberIsFollowedByFamilyAndModel() {
        assertEquals(Optional.of("AMD EPYC (family 25, model 1)"), HostMachine.processor(
            List.of("cpu family\t: 25", "model\t\t: 1", "model name\t: AMD EPYC", "stepping\t: 1")));
        assertEquals(Optional.of("AMD EPYC 7763 64-Core Processor"), HostMachine.processor(
            List.of("cpu family\t: 25", "model\t\t: 1", "model name\t: AMD EPYC 7763 64-Core Processor")));
        assertEquals(Optional.of("a core"), HostMachine.processor(List.of("model name\t: a core")));
        assertEquals(Optional.empty(), HostMachine.processor(List.of("CPU architecture: 8")));
    }

    @Test
    void reportsMissingValues() {
        UserException failure = assertThrows(UserException.class,
            () -> HostMachine.size(STATUS, List.of("VmHWM:\t    1932 kB"), "RssAnon"));
        assertEquals("/proc/self/status has no size \"RssAnon\"; Linux 4.5 or newer has it", failure.getMessage());
    }

    @Test
    void anonymousMemoryFollowsAllocationAndTheWatermarkStays() {
        long before = HostMachine.anonymousMemory();
        long held = 512 * MIB; // far more than anything else in this process gives back meanwhile
        long during;
        try (Arena arena = Arena.ofConfined()) {
            arena.allocate(held).fill((byte) 1);
            during = HostMachine.anonymousMemory();
        }
        assertTrue(during >= before + held / 2, "counts what is allocated");
        assertTrue(HostMachine.anonymousMemory() <= during - held / 2, "and given back");
        assertTrue(HostMachine.residentHighWatermark() >= during);
    }

    @Test
    void readsThisMachine() {
        assertFalse(HostMachine.processor().isBlank());
        assertTrue(HostMachine.availableMemory() > 0);
        assertTrue(HostMachine.mappedFilePages() > 0, "the JVM's own libraries, at least");
    }
}
