package org.isobar.telemetry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.isobar.fault.IoReason;
import org.isobar.fault.UserException;

/**
 * What the kernel says of this process's memory, in bytes (proc(5), {@code /proc/self/status}).
 *
 * @param peak      the most that was ever resident, mapped file pages included (VmHWM)
 * @param resident  what is resident now (VmRSS)
 * @param anonymous the part of it that no file stands behind: heap, arenas, stacks (RssAnon)
 * @param file      the part of it that are pages of mapped files (RssFile)
 */
public record ProcessMemory(long peak, long resident, long anonymous, long file) {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final int KIB = 1024;

    /**
     * The memory of this process now.
     *
     * @throws UserException if the kernel does not tell
     */
    public static ProcessMemory now() {
        try {
            return parse(Files.readAllLines(STATUS));
        } catch (IOException e) {
            throw new UserException("cannot read " + STATUS + ": " + IoReason.of(e)
                + "; mount /proc to have memory reported", e);
        }
    }

    static ProcessMemory parse(List<String> status) {
        return new ProcessMemory(bytes(status, "VmHWM:"), bytes(status, "VmRSS:"),
            bytes(status, "RssAnon:"), bytes(status, "RssFile:"));
    }

    private static long bytes(List<String> status, String key) {
        for (String line : status) {
            if (line.startsWith(key) && line.endsWith(" kB")) {
                return KIB * Long.parseLong(line.substring(key.length(), line.length() - " kB".length()).strip());
            }
        }
        throw new UserException(STATUS + " has no line \"" + key + "\"; Linux 4.5 or newer has it");
    }
}
