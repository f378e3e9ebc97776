package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.junit.jupiter.api.Test;

/** The stack between forward and backward, and the masks of a step. */
class PassTest {
    private record Saved(int value) { }

    @Test
    void givesBackInReverseOrder() {
        Pass pass = pass(new Pass.None());
        pass.push("a", new Saved(1));
        pass.push("b", new Saved(2));
        assertEquals(2, pass.pop("b", Saved.class).value());
        assertEquals(1, pass.pop("a", Saved.class).value());
        pass.finish();
    }

    @Test
    void anUnbalancedPassThrows() {
        Pass pass = pass(new Pass.None());
        pass.push("a", new Saved(1));
        assertTrue(assertThrows(IllegalStateException.class, () -> pass.pop("b", Saved.class)).getMessage()
            .contains("b pops what a pushed"));
        Pass left = pass(new Pass.None());
        left.push("a", new Saved(1));
        assertThrows(IllegalStateException.class, left::finish);
        assertThrows(IllegalStateException.class, () -> pass(new Pass.None()).pop("a", Saved.class));
    }

    @Test
    void masksDependOnPurposeAndStepNotOnTheCall() {
        Pass pass = pass(new Pass.Masks(1, 5, new IndexSpan(2, 4, 16)));
        Dropout mask = pass.mask("drop", 0.5, IndexSpan.whole(3));
        assertEquals(mask, pass.mask("drop", 0.5, IndexSpan.whole(3)));
        assertEquals(List.of(new IndexSpan(2, 4, 16), IndexSpan.whole(3)), mask.spans());
        assertNotEquals(mask.key(), pass.mask("other", 0.5, IndexSpan.whole(3)).key());
        assertNotEquals(mask.key(), pass(new Pass.Masks(1, 6, new IndexSpan(2, 4, 16))).mask("drop", 0.5).key());
        assertTrue(pass.mask("drop", 0, IndexSpan.whole(3)).isNone());
        assertTrue(pass(new Pass.None()).mask("drop", 0.5, IndexSpan.whole(3)).isNone());
    }

    private static Pass pass(Pass.Randomness randomness) {
        DryRunDevice device = new DryRunDevice();
        DeviceArena arena = device.arena("any", 1 << 20);
        return new Pass(device.ops(), arena, arena, randomness);
    }
}
