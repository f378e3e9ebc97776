package org.isobar.os;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

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
    private static final Set<String> BF16_PRODUCTS = Set.of("avx512_bf16", "amx_bf16", "bf16");
    private static final Path NVIDIA_DRIVER = Path.of("/proc/driver/nvidia/version");
    private static final long KIB = 1024;

    private HostMachine() { }

    /** Model name of the processor, or its architecture where it has no name. */
    public static String processor() {
        return value(lines(PROCESSORS), "model name").orElseGet(() -> System.getProperty("os.arch"));
    }

    /** What the processor can do, in the kernel's words: "avx512f", "amx_bf16". */
    public static Set<String> processorFeatures() {
        List<String> lines = lines(PROCESSORS);
        return value(lines, "flags").or(() -> value(lines, "Features")) // x86, Arm
            .map(flags -> Set.of(flags.split(" +"))).orElse(Set.of());
    }

    /** Whether the processor multiplies matrices or vectors of bfloat16: AVX-512 and AMX of x86, FEAT_BF16 of Arm. */
    public static boolean multipliesBf16() {
        return multipliesBf16(processorFeatures());
    }

    static boolean multipliesBf16(Set<String> features) {
        return !Collections.disjoint(features, BF16_PRODUCTS);
    }

    /** Release of NVIDIA's driver in the kernel, if there is one. */
    public static Optional<String> nvidiaDriver() {
        return Files.isReadable(NVIDIA_DRIVER)
            ? lines(NVIDIA_DRIVER).stream().findFirst().flatMap(HostMachine::driverRelease) : Optional.empty();
    }

    /** "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...". */
    static Optional<String> driverRelease(String line) {
        return Pattern.compile("\\s(\\d+(\\.\\d+)+)\\s").matcher(line).results().map(found -> found.group(1))
            .findFirst();
    }

    /** Memory of the machine, or of this process's control group where that has a limit. */
    public static long totalMemory() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
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
        return Math.min(size(MEMORY, "MemAvailable"), totalMemory() - anonymousMemory());
    }

    private static long size(Path file, String key) {
        return size(file, lines(file), key);
    }

    static long size(Path file, List<String> lines, String key) {
        String value = value(lines, key).filter(size -> size.endsWith(" kB")).orElseThrow(() -> new UserException(
            file + " has no size \"" + key + "\"; Linux 4.5 or newer has it"));
        return Long.parseLong(value.substring(0, value.length() - " kB".length())) * KIB;
    }

    /** Its name in the network. */
    public static String name() {
        return lines(Path.of("/proc/sys/kernel/hostname")).getFirst().strip();
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
