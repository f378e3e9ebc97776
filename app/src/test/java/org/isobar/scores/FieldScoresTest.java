package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

import org.junit.jupiter.api.Test;

/** Two rows of two points with weights 0.5 and 1.5. */
class FieldScoresTest {
    private static final double[] WEIGHTS = {0.5, 1.5};
    private static final double ROUNDING = 1e-15;

    private static MemorySegment field(float... values) {
        return MemorySegment.ofArray(values);
    }

    @Test
    void errorsAreWeightedByArea() {
        FieldScores scores = FieldScores.of(WEIGHTS, field(3, 1, 0, 4), field(1, 1, 1, 1), Optional.empty());
        assertEquals((0.5 * 4 + 1.5 * (1 + 9)) / 4, scores.mse(), ROUNDING);
        assertEquals((0.5 * 2 + 1.5 * (1 + 3)) / 4, scores.mae(), ROUNDING);
        assertEquals((0.5 * 2 + 1.5 * (-1 + 3)) / 4, scores.bias(), ROUNDING);
        assertTrue(Double.isNaN(scores.acc()));
        assertTrue(Double.isNaN(scores.activity()));
    }

    /** Anomalies (1, 1, 1, 3) and (1, 1, 1, 1): their means differ from zero and are not subtracted. */
    @Test
    void anomaliesAreNotCentred() {
        FieldScores scores = FieldScores.of(WEIGHTS, field(2, 3, 4, 7), field(2, 3, 4, 5),
            Optional.of(field(1, 2, 3, 4)));
        assertEquals(7 / Math.sqrt(16 * 4.0), scores.acc(), ROUNDING);
        assertEquals(Math.sqrt(16 / 4.0 - Math.pow(7 / 4.0, 2)), scores.activity(), ROUNDING);
    }

    @Test
    void theClimatologyHasNoAnomaly() {
        MemorySegment climatology = field(1, 2, 3, 4);
        FieldScores scores = FieldScores.of(WEIGHTS, climatology, field(2, 3, 4, 5), Optional.of(climatology));
        assertTrue(Double.isNaN(scores.acc()));
        assertEquals(0, scores.activity());
        assertEquals(1, scores.mse());
    }

    @Test
    void fieldsOfDifferentSizesAreRefused() {
        assertThrows(IllegalArgumentException.class,
            () -> FieldScores.of(WEIGHTS, field(1, 2, 3, 4), field(1, 2), Optional.empty()));
        assertThrows(IllegalArgumentException.class,
            () -> FieldScores.of(WEIGHTS, field(1, 2, 3), field(1, 2, 3), Optional.empty()));
    }
}
