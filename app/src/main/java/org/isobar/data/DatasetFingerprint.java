package org.isobar.data;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.zip.CRC32C;

/**
 * Identifies a data set by its contents: its extents, and checksums of its statistics and of three of its samples.
 */
public final class DatasetFingerprint {
    private DatasetFingerprint() { }

    /**
     * The fingerprint as text: {@code 5824 samples, 1456 a year, of 20 x 360 x 720 to 20 channels, dt 1:} and four
     * checksums. If years differ, it says {@code 1460 to 1464 a year}. Channels that are chosen by name are
     * named. Copies of a data set have the same fingerprint, whatever their path. The checksums cover the statistics
     * and the first, the middle and the last sample; no other sample is read.
     *
     * @throws org.isobar.fault.UserException if one of these samples cannot be read
     */
    public static String of(Era5Dataset data) {
        DatasetConfig config = data.config();
        String names = config.channels().isNamed() ? " (" + String.join(", ", config.channels().inputs()) + ")" : "";
        return String.format(Locale.ROOT, "%d samples, %s a year, of %s%s to %d channels, dt %d: %08x %08x %08x %08x",
            data.size(), data.years().lengths(), config.input(), names, config.outChannels(), config.dt(),
            checksum(data.normalization()), checksum(data, 0), checksum(data, data.size() / 2),
            checksum(data, data.size() - 1)); // in a data set of one year this equals the first sample
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
