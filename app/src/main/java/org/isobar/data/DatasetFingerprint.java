package org.isobar.data;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;

/** What tells one data set from another: extents, and checksums of statistics and of some numbers as read. */
final class DatasetFingerprint {
    private DatasetFingerprint() { }

    /** {@code 5824 samples, 1456 a year, of 20 x 360 x 720 to 20 channels, dt 1:} and four checksums. */
    static String of(Era5Dataset data) {
        DatasetConfig config = data.config();
        return "%d samples, %d a year, of %s to %d channels, dt %d: %08x %08x %08x %08x".formatted(data.size(),
            data.samplesPerYear(), config.input(), config.outChannels(), config.dt(),
            checksum(data.normalization()), checksum(data, 0), checksum(data, data.size() / 2),
            checksum(data, data.size() - 1)); // which of a single year is the first again
    }

    private static long checksum(Normalization statistics) {
        try (Arena arena = Arena.ofConfined()) {
            return checksum(arena.allocateFrom(ValueLayout.JAVA_FLOAT, statistics.means()),
                arena.allocateFrom(ValueLayout.JAVA_FLOAT, statistics.spreads()));
        }
    }

    private static long checksum(Era5Dataset data, long sample) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment input = arena.allocate(data.config().input().bytes(), Float.BYTES);
            MemorySegment target = arena.allocate(data.config().target().bytes(), Float.BYTES);
            data.readRaw(sample, input, 0, target, 0);
            return checksum(input, target);
        }
    }

    private static long checksum(MemorySegment... numbers) {
        CRC32C sum = new CRC32C();
        for (MemorySegment part : numbers) {
            sum.update(part.asByteBuffer());
        }
        return sum.getValue();
    }
}
