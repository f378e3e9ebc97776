package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.stream.IntStream;

import org.isobar.random.Philox;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All ranks have the same order of samples, distributed by stride. */
class DistributedSamplerTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 6})
    void everyNumberOfShardsSeesTheSameGlobalBatches(int shards) {
        int[] order = Philox.permutation(Philox.Key.of(333, "data order").at(4), 20);
        for (int shard = 0; shard < shards; shard++) {
            DistributedSampler sampler = new DistributedSampler(20, 6, shards, shard, true, 333);
            int local = 6 / shards;
            assertEquals(3, sampler.steps());
            int[] samples = sampler.epoch(4);
            assertEquals(3 * local, samples.length);
            for (int step = 0; step < 3; step++) {
                for (int b = 0; b < local; b++) {
                    assertEquals(order[step * 6 + b * shards + shard], samples[step * local + b]);
                }
            }
        }
    }

    /** The samples of a shard do not depend on how many micro-batches they come in. */
    @Test
    void microBatchesCutTheSamplesOfAStep() {
        DistributedSampler whole = new DistributedSampler(50, 12, 2, 1, true, 1);
        DistributedSampler parts = new DistributedSampler(50, 12, 2, 1, 3, true, 1);
        assertEquals(4, parts.steps());
        assertEquals(12, parts.batches());
        assertEquals(2, parts.localBatch());
        assertArrayEquals(whole.epoch(3), parts.epoch(3));
        assertThrows(IllegalArgumentException.class, () -> new DistributedSampler(50, 12, 2, 1, 4, true, 1));
    }

    @Test
    void epochsAndSeedsDifferAndRepeat() {
        DistributedSampler sampler = new DistributedSampler(50, 1, 1, 0, true, 1);
        assertArrayEquals(sampler.epoch(0), new DistributedSampler(50, 1, 1, 0, true, 1).epoch(0));
        assertFalse(Arrays.equals(sampler.epoch(0), sampler.epoch(1)));
        assertFalse(Arrays.equals(sampler.epoch(0), new DistributedSampler(50, 1, 1, 0, true, 2).epoch(0)));
        assertArrayEquals(IntStream.range(0, 50).toArray(), Arrays.stream(sampler.epoch(7)).sorted().toArray());
    }

    @Test
    void validationKeepsTheOrderAndDropsTheTail() {
        DistributedSampler sampler = new DistributedSampler(7, 2, 2, 1, false, 1);
        assertArrayEquals(new int[] {1, 3, 5}, sampler.epoch(3));
    }
}
