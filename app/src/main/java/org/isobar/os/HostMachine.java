package org.isobar.os;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import com.sun.management.OperatingSystemMXBean;
import org.isobar.fault.UserException;

/**
 * What Linux says of the machine and of this process, in {@code /proc} (proc(5)). Sizes are in bytes. Every method
 * throws a {@link UserException} where the kernel does not tell.
 */
public final class HostMachine {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Path PROCESS = Path.of("/proc/self/status");
    private static final long KIB = 1024;

    private HostMachine() { }

    /** Model name of the processor, or its architecture where it has no name. */
    public static String processor() {
        return value(lines(PROCESSORS), "model name").orElseGet(() -> System.getProperty("os.arch"));
    }

    /** The most memory of this process that was ever resident, mapped file pages included (VmHWM). */
    public static long residentHighWatermark() {
        return size(PROCESS, "VmHWM");
    }

    /** What is resident now and has no file behind it: heap, arenas, stacks (RssAnon). */
    public static long anonymousMemory() {
        return size(PROCESS, "RssAnon");
    }

    /** Pages of mapped files that are resident now (RssFile). */
    public static long mappedFilePages() {
        return size(PROCESS, "RssFile");
    }

    /**
     * Memory that this process may still take: what the machine can give without swapping, or what the process's
     * control group leaves of its limit, whichever is less. Mapped files do not count, for they can be dropped.
     */
    public static long availableMemory() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long limit = system.getTotalMemorySize(); // of the control group, where it has one; else of the machine
        return Math.min(size(MEMORY, "MemAvailable"), limit - anonymousMemory());
    }

    private static long size(Path file, String key) {
        return size(file, lines(file), key);
    }

    static long size(Path file, List<String> lines, String key) {
        String value = value(lines, key).filter(size -> size.endsWith(" kB")).orElseThrow(() -> new UserException(
            file + " has no size \"" + key + "\"; Linux 4.5 or newer has it"));
        return Long.parseLong(value.substring(0, value.length() - " kB".length())) * KIB;
    }

    /** Value of the first line {@code key: value}. */
    private static Optional<String> value(List<String> lines, String key) {
        return lines.stream().filter(line -> line.startsWith(key)).findFirst()
            .map(line -> line.substring(line.indexOf(':') + 1).strip());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException failure) {
            throw FileFault.unreadable(file + ", where Linux tells of the machine", failure);
        }
    }
}
