package org.isobar.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** Tests quantiles of a few numbers. */
class SpreadTest {
    @Test
    void quantilesEqualThoseOfNumpy() {
        assertEquals(new Spread(4, 2.5, 1, 4, 1.75, 3.25), Spread.of(3, 1, 4, 2));
        assertEquals(new Spread(1, 7, 7, 7, 7, 7), Spread.of(7));
    }

    @Test
    void rehearsalHasNoSpread() {
        double[] seconds = {1, 2};
        assertNull(Spread.of(seconds, Timing.REHEARSED, value -> value));
        assertEquals(0.75, Spread.of(seconds, Timing.MEASURED, value -> 1 / value).median());
    }
}
