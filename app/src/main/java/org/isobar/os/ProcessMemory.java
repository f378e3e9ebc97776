package org.isobar.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import org.isobar.fault.UserException;

/**
 * Memory of a process in bytes, as Linux counts it (proc(5)).
 *
 * @param anonymous resident memory not backed by files: heap, arenas, stacks (RssAnon)
 * @param files     resident pages of mapped files (RssFile)
 * @param peak      peak resident memory, including pages of files (VmHWM)
 */
public record ProcessMemory(long anonymous, long files, long peak) {

    /** The memory of a process; empty if the process has ended. */
    public static Optional<ProcessMemory> of(long pid) {
        Path file = Path.of("/proc", String.valueOf(pid), "status");
        try {
            List<String> lines = Files.readAllLines(file);
            return Optional.of(new ProcessMemory(HostMachine.size(file, lines, "RssAnon"),
                HostMachine.size(file, lines, "RssFile"), HostMachine.size(file, lines, "VmHWM")));
        } catch (IOException | UserException ended) { // a zombie has a status without sizes
            return Optional.empty();
        }
    }

    /** The maximum of each value. */
    public ProcessMemory max(ProcessMemory other) {
        return new ProcessMemory(Math.max(anonymous, other.anonymous), Math.max(files, other.files),
            Math.max(peak, other.peak));
    }

    /** The sum of each value. */
    public ProcessMemory plus(ProcessMemory other) {
        return new ProcessMemory(anonymous + other.anonymous, files + other.files, peak + other.peak);
    }
}
