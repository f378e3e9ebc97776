package org.isobar.train.memory;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.util.Optional;

/**
 * The memory that a process may use.
 *
 * @param bytes  its size
 * @param source where the size comes from
 */
public record MemoryBudget(long bytes, Source source) {
    /** Where a budget comes from. */
    public enum Source {
        /** The device's memory that is free. */
        FREE,
        /** Key {@code memory_limit}, which holds for each process. */
        LIMIT
    }

    /** The free memory of a process or, if it is smaller, its limit. */
    public static MemoryBudget of(Optional<Long> limit, long free) {
        return limit.filter(most -> most < free).map(most -> new MemoryBudget(most, Source.LIMIT))
            .orElse(new MemoryBudget(free, Source.FREE));
    }

    /** The end of a sentence about a process that needs {@code needed} bytes. */
    String exceededBy(long needed) {
        return source == Source.FREE ? gigabytes(bytes) + " GB are free"
            : "memory_limit allows each process " + gigabytes(bytes) + " GB, " + gigabytes(needed - bytes)
                + " GB too few";
    }
}
