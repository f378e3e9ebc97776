package org.isobar.backend.cpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

import com.sun.management.OperatingSystemMXBean;

/** What Linux says of the machine and of this process, in {@code /proc}. Sizes are in bytes. */
final class HostMachine {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Path PROCESS = Path.of("/proc/self/status");
    private static final long KIB = 1024;

    private HostMachine() { }

    /** Model name of the processor, or its architecture where it has no name. */
    static String processor() {
        return value(PROCESSORS, "model name").orElseGet(() -> System.getProperty("os.arch"));
    }

    /** Most memory of this process that was ever resident, mapped files included. */
    static long residentHighWatermark() {
        return size(PROCESS, "VmHWM");
    }

    /**
     * Memory that this process may still take: what the machine can give without swapping, or what the process's
     * control group leaves of its limit, whichever is less. Mapped files do not count, for they can be dropped.
     */
    static long availableMemory() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long limit = system.getTotalMemorySize(); // of the control group, where it has one; else of the machine
        return Math.min(size(MEMORY, "MemAvailable"), limit - size(PROCESS, "RssAnon"));
    }

    private static long size(Path file, String key) {
        String value = value(file, key).orElseThrow(() -> new IllegalStateException(file + " has no " + key));
        return Long.parseLong(value.replace(" kB", "")) * KIB;
    }

    /** Value of the first line {@code key: value}. */
    private static Optional<String> value(Path file, String key) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.filter(line -> line.startsWith(key)).findFirst()
                .map(line -> line.substring(line.indexOf(':') + 1).strip());
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }
}
