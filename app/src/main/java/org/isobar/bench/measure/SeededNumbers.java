package org.isobar.bench.measure;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.stream.LongStream;
import java.util.zip.CRC32;

/**
 * Pseudorandom weights and images that {@code bench/vit_torch.py} computes with the same bits, so that no file is
 * needed. They are uniformly distributed: element {@code i} of a named tensor is
 * {@code centre + deviation sqrt(3) (h / 2^23 - 1)}, computed in double and then cast, where h is 24 bits of a hash of
 * {@code i} and the CRC-32 of the name.
 */
public final class SeededNumbers {
    /** Standard deviation of all weights. */
    public static final double WEIGHT_DEVIATION = 0.02;
    private static final int GOLDEN = 0x9E3779B1;
    private static final long BLOCK = 1 << 16;

    private SeededNumbers() { }

    /** Fills {@code host} with single-precision numbers of that mean and standard deviation. */
    public static void fill(MemorySegment host, String name, double centre, double deviation) {
        CRC32 crc = new CRC32();
        crc.update(name.getBytes(StandardCharsets.UTF_8));
        int key = (int) crc.getValue();
        double halfWidth = deviation * Math.sqrt(3);
        long elements = host.byteSize() / Float.BYTES;
        LongStream.range(0, (elements + BLOCK - 1) / BLOCK).parallel().forEach(block -> {
            for (long i = block * BLOCK; i < Math.min(elements, (block + 1) * BLOCK); i++) {
                double uniform = (hash((int) i * GOLDEN + key) >>> 8) * 0x1p-23 - 1;
                host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (centre + halfWidth * uniform));
            }
        });
    }

    /** Mean of a weight: 1 for weights of norms, 0 for all others. */
    public static double centre(String weight) {
        return weight.contains("norm") && weight.endsWith("weight") ? 1 : 0;
    }

    /** Hash function lowbias32 by C. Wellons: each input bit flips about half of the output bits. */
    private static int hash(int value) {
        int h = value;
        h = (h ^ h >>> 16) * 0x7feb352d;
        h = (h ^ h >>> 15) * 0x846ca68b;
        return h ^ h >>> 16;
    }
}
