package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;

import org.isobar.scores.ForecastKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scores of unfinished evaluations in one directory. */
class SavedPartsTest {
    private static final PartialScores.Extents EXTENTS =
        new PartialScores.Extents(List.of(ForecastKind.MODEL, ForecastKind.PERSISTENCE), 2, 3, 8);

    @TempDir
    private Path directory;

    /** As when two evaluations are started with the same directory, which is not allowed. */
    @Test
    void partsOfAnotherEvaluationAreNotTakenOver() {
        PartialScores scores = PartialScores.zero(EXTENTS, 1);
        SavedParts one = new SavedParts(directory, "--out");
        SavedParts other = new SavedParts(directory, "--out");
        one.begin("one");
        other.begin("other");
        scores.numbers().forEach(numbers -> numbers[1] = 7);
        one.write(0, scores);
        assertFalse(other.has(0, scores));
        assertTrue(one.has(0, scores));
        PartialScores read = PartialScores.zero(EXTENTS, 1);
        one.read(0, read);
        assertEquals(7, read.numbers().getFirst()[1]);
        assertEquals(scores.numbers().stream().mapToLong(numbers -> numbers.length).sum() * Double.BYTES,
            PartialScores.bytes(EXTENTS, 1));
    }
}
