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
 * Reads properties of the machine and of this process from {@code /proc} (proc(5)). Sizes are in bytes. Every method
 * throws a {@link UserException} if the kernel does not provide the value.
 */
public final class HostMachine {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Path PROCESS = Path.of("/proc/self/status");
    private static final Set<String> BF16_PRODUCTS = Set.of("avx512_bf16", "amx_bf16", "bf16");
    private static final Path NVIDIA_DRIVER = Path.of("/proc/driver/nvidia/version");
    private static final long KIB = 1024;

    private HostMachine() { }

    /**
     * Model name of the processor, or its architecture if it has no name. Family and model follow a name without a
     * number, which virtual machines give to processors of different speed.
     */
    public static String processor() {
        return processor(lines(PROCESSORS)).orElseGet(() -> System.getProperty("os.arch"));
    }

    static Optional<String> processor(List<String> lines) {
        return value(lines, "model name").map(name -> name.matches(".*\\d.*") ? name
            : name + value(lines, "cpu family").flatMap(family -> value(lines, "model\t")
                .map(model -> " (family " + family + ", model " + model + ")")).orElse(""));
    }

    /** Features of the processor under the kernel's names: "avx512f", "amx_bf16". */
    public static Set<String> processorFeatures() {
        List<String> lines = lines(PROCESSORS);
        return value(lines, "flags").or(() -> value(lines, "Features")) // x86, Arm
            .map(flags -> Set.of(flags.split(" +"))).orElse(Set.of());
    }

    /** Whether the processor has bfloat16 products: AVX512-BF16 or AMX-BF16 of x86, FEAT_BF16 of Arm. */
    public static boolean multipliesBf16() {
        return multipliesBf16(processorFeatures());
    }

    static boolean multipliesBf16(Set<String> features) {
        return !Collections.disjoint(features, BF16_PRODUCTS);
    }

    /** Version of the NVIDIA kernel driver; empty if there is none. */
    public static Optional<String> nvidiaDriver() {
        return Files.isReadable(NVIDIA_DRIVER)
            ? lines(NVIDIA_DRIVER).stream().findFirst().flatMap(HostMachine::driverRelease) : Optional.empty();
    }

    /** "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...". */
    static Optional<String> driverRelease(String line) {
        return Pattern.compile("\\s(\\d+(\\.\\d+)+)\\s").matcher(line).results().map(found -> found.group(1))
            .findFirst();
    }

    /** Memory of the machine, or the memory limit of this process's control group if it has one. */
    public static long totalMemory() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
    }

    /** Peak resident memory of this process, including pages of mapped files (VmHWM). */
    public static long residentHighWatermark() {
        return size(PROCESS, "VmHWM");
    }

    /** Resident memory of this process that is not backed by files: heap, arenas, stacks (RssAnon). */
    public static long anonymousMemory() {
        return size(PROCESS, "RssAnon");
    }

    /** Resident pages of mapped files (RssFile). */
    public static long mappedFilePages() {
        return size(PROCESS, "RssFile");
    }

    /**
     * Memory that this process can still allocate: the smaller of what the machine has available without swapping and
     * what is left of the limit of the process's control group. Pages of mapped files do not count as used, because the
     * kernel can drop them.
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

    /** The effective user of this process, as a number. */
    public static int user() {
        return identity("Uid");
    }

    /** The effective group of this process, as a number. */
    public static int group() {
        return identity("Gid");
    }

    /** The second of the numbers real, effective, saved, file system. */
    private static int identity(String key) {
        return Integer.parseInt(value(lines(PROCESS), key).orElseThrow().split("\\s+")[1]);
    }

    /** The host name. */
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
            throw FileFault.unreadable(file + ", which describes the machine", failure);
        }
    }
}
