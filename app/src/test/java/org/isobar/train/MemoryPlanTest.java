package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** What the dry run says of the tutorial's models, and that too little memory is refused. */
class MemoryPlanTest {
    private static final VitConfig BASE = new VitConfig(360, 720, 8, 20, 20, 384, 12, 8, 1536, 0);
    private static final VitConfig MP = new VitConfig(360, 720, 8, 20, 20, 1024, 12, 8, 4096, 0);

    @Test
    void countsTheFlopsOfTheTutorial() {
        assertEquals(1.447e12, MemoryPlan.of(BASE, 1).stepFlops() + imageGradient(BASE), 0.0005e12);
        assertEquals(6.152e12, MemoryPlan.of(MP, 1).stepFlops() + imageGradient(MP), 0.0005e12);
    }

    /** The gradient of the image, which the usual count of three products a layer includes and nobody needs. */
    private static double imageGradient(VitConfig config) {
        return 2.0 * config.tokens() * config.embed() * config.inChannels() * config.patch() * config.patch();
    }

    @Test
    void baseFitsALaptop() {
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

    @Test
    void refusesTooLittleMemory() {
        MemoryPlan plan = MemoryPlan.of(BASE, 1);
        long batches = 3L << 30;
        long program = 128L << 20;
        long needed = plan.bytes() + batches + program;
        plan.check(batches, needed);
        String message = assertThrows(OutOfDeviceMemoryException.class, () -> plan.check(batches, needed - 1))
            .getMessage();
        assertTrue(message.startsWith("this run needs 4.") && message.contains("3.00 batches")
            && message.contains("--local_batch_size"), message);
    }
}
