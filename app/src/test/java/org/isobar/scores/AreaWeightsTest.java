package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases that can be computed by hand. */
class AreaWeightsTest {
    private static final double ROUNDING = 1e-14;

    /** Bounds at 45 degrees: cells of 1 - sin 45, 2 sin 45 and 1 - sin 45, two thirds in the mean. */
    @Test
    void poleRowsHaveHalfCells() {
        double half = Math.sqrt(0.5);
        assertArrayEquals(new double[] {1.5 * (1 - half), 3 * half, 1.5 * (1 - half)},
            AreaWeights.of(new double[] {90, 0, -90}), ROUNDING);
    }

    /** Rows at 60 and 0 degrees: the bound between them at 30, where the sine is a half; the south pole is the last. */
    @Test
    void outermostBoundsAreThePoles() {
        assertArrayEquals(new double[] {0.5, 1.5}, AreaWeights.of(new double[] {60, 0}), ROUNDING);
        assertArrayEquals(new double[] {1.5, 0.5}, AreaWeights.of(new double[] {0, 60}), ROUNDING);
    }

    /** A region of 50 to 30 degrees, whose cells are 10 degrees high and lie between 55 and 25. */
    @Test
    void outermostCellsOfARegionEndBesideTheirRows() {
        double whole = sine(55) - sine(25);
        double[] north = {3 * (sine(55) - sine(45)) / whole, 3 * (sine(45) - sine(35)) / whole,
            3 * (sine(35) - sine(25)) / whole};
        assertArrayEquals(north, AreaWeights.of(new double[] {50, 40, 30}), ROUNDING);
        assertArrayEquals(north, AreaWeights.of(new double[] {-50, -40, -30}), ROUNDING);
        double[] south = {north[2], north[1], north[0]};
        assertArrayEquals(south, AreaWeights.of(new double[] {30, 40, 50}), ROUNDING);
    }

    /** As the 720 of 721 rows that the tutorial reads: bounds at 90, 60, 0 and -90 degrees. */
    @Test
    void aGridWithoutItsLastRowReachesThePole() {
        assertArrayEquals(new double[] {1.5 * (1 - sine(60)), 1.5 * sine(60), 1.5},
            AreaWeights.of(new double[] {90, 30, -30}), ROUNDING);
    }

    private static double sine(double degrees) {
        return Math.sin(Math.toRadians(degrees));
    }

    @Test
    void latitudesOfTheTutorialReachBothPoles() {
        assertArrayEquals(new double[] {90, 45, 0, -45, -90}, AreaWeights.tutorialLatitudes(5), ROUNDING);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "10,10", "0,20,10", "91,0", "NaN,0", "0,NaN"})
    void otherLatitudesAreRefused(String latitudes) {
        double[] rows = Arrays.stream(latitudes.split(",")).mapToDouble(Double::parseDouble).toArray();
        assertThrows(IllegalArgumentException.class, () -> AreaWeights.of(rows));
    }
}
