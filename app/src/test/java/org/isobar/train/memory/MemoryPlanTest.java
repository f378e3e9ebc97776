package org.isobar.train.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

import org.isobar.tensor.DType;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** Tests memory and operation counts of the tutorial's models in the dry run. */
class MemoryPlanTest {
    private static final VitConfig BASE = new VitConfig(360, 720, 8, 20, 20, 384, 12, 8, 1536, 0);
    private static final VitConfig MP = new VitConfig(360, 720, 8, 20, 20, 1024, 12, 8, 4096, 0);

    @Test
    void countsTheFlopsOfTheTutorial() {
        assertEquals(1.447e12, MemoryPlan.of(BASE, 1).stepFlops() + imageGradient(BASE), 0.0005e12);
        assertEquals(6.152e12, MemoryPlan.of(MP, 1).stepFlops() + imageGradient(MP), 0.0005e12);
    }

    /**
     * Operations for the gradient of the image. The usual count of three products per layer includes it, but no layer
     * needs it.
     */
    private static double imageGradient(VitConfig config) {
        return 2.0 * config.tokens() * config.embed() * config.inChannels() * config.patch() * config.patch();
    }

    @Test
    void baseFitsInTheMemoryOfALaptop() {
        assertTrue(MemoryPlan.of(BASE, 1).bytes() < 2L << 30);
    }

    @Test
    void keptMemoryGrowsWithTheBatchAlone() {
        MemoryPlan one = MemoryPlan.of(BASE, 1);
        MemoryPlan four = MemoryPlan.of(BASE, 4);
        assertEquals(4.0, (double) four.keptBytes() / one.keptBytes(), 0.001);
        assertEquals(one.footprint().widestRow(), four.footprint().widestRow());
        assertEquals(4 * one.stepFlops(), four.stepFlops());
    }

    /** Weights, gradients, moments and the residual stream stay in single precision; other activations do not. */
    @Test
    void halfPrecisionAddsACopyOfTheWeightsAndSavesActivations() {
        MemoryPlan single = MemoryPlan.of(BASE, 1);
        long prediction = 4L * BASE.outChannels() * BASE.height() * BASE.width();
        for (DType half : List.of(DType.F16, DType.BF16)) {
            MemoryPlan plan = MemoryPlan.of(BASE, 1, half);
            long copy = plan.stateBytes() - single.stateBytes();
            assertEquals(2.0 / 16, (double) copy / (single.stateBytes() - prediction), 0.0001);
            assertEquals(keptPerToken(2) / keptPerToken(4), (double) plan.keptBytes() / single.keptBytes(), 0.001);
            assertTrue(plan.scratchBytes() < 0.65 * single.scratchBytes());
            assertEquals(single.stepFlops(), plan.stepFlops());
        }
    }

    /** Block inputs and statistics have four bytes; q, kv, attention output and hidden units have {@code bytes}. */
    private static double keptPerToken(int bytes) {
        double block = 2 * BASE.embed() * 4 + 4 * 4 + BASE.heads() * 4
            + (4 * BASE.embed() + BASE.hidden()) * (double) bytes;
        return BASE.depth() * block + BASE.embed() * 4 + 2 * 4;
    }
}
