package org.isobar.bench.measure;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

import org.junit.jupiter.api.Test;

/** Tests the initial values that Isobar and PyTorch share. */
class SeededNumbersTest {
    /** The expected values are the output of bench/vit_torch.py. */
    @Test
    void valuesEqualThoseOfPyTorch() {
        assertArrayEquals(new float[] {-0.024847925f, -0.0021905096f, 0.0066743665f, -0.030815996f, -0.00083624653f},
            numbers("head.weight", 5, SeededNumbers.centre("head.weight")));
        assertArrayEquals(new float[] {1.0197616f, 1.0055847f, 0.98418915f},
            Arrays.copyOfRange(numbers("norm.weight", 70_000, SeededNumbers.centre("norm.weight")), 65_535, 65_538));
    }

    @Test
    void meanAndDeviationAreAsRequested() {
        float[] numbers = numbers("blocks.0.attn.q.weight", 100_000, 0);
        double mean = 0;
        double square = 0;
        for (float number : numbers) {
            mean += (double) number / numbers.length;
            square += (double) number * number / numbers.length;
        }
        assertEquals(0, mean, 4 * SeededNumbers.WEIGHT_DEVIATION / Math.sqrt(numbers.length));
        assertEquals(SeededNumbers.WEIGHT_DEVIATION, Math.sqrt(square), 1e-4);
    }

    private static float[] numbers(String name, int count, double centre) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment host = arena.allocate(count * 4L, 4);
            SeededNumbers.fill(host, name, centre, SeededNumbers.WEIGHT_DEVIATION);
            return host.toArray(ValueLayout.JAVA_FLOAT);
        }
    }
}
