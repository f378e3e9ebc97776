package org.isobar.verify.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The reference itself against values from elsewhere. */
class NormalDistributionTest {
    /** Values computed to forty digits with mpmath. */
    private static final double[][] KNOWN = {
        {-12, 1.776482112077679e-33},
        {-6, 9.86587645037698141e-10},
        {-3.5, 0.000232629079035525036},
        {-3, 0.00134989803163009453},
        {-2.75, 0.00297976323505455675},
        {-1, 0.158655253931457051},
        {-0.25, 0.401293674317076276},
        {0, 0.5},
        {0.5, 0.691462461274013104},
        {1.5, 0.933192798731141934},
        {2.999, 0.998645663466272894},
        {4, 0.99996832875816688},
    };

    @Test
    void agreesWithKnownValues() {
        for (double[] row : KNOWN) {
            assertEquals(row[1], NormalDistribution.cumulative(row[0]), 2e-13 * row[1], "Phi(" + row[0] + ")");
        }
    }

    @Test
    void symmetricTailsSumToOne() {
        for (double x = 0; x < 8; x += 0.01) {
            assertEquals(1, NormalDistribution.cumulative(x) + NormalDistribution.cumulative(-x), 1e-15);
        }
    }
}
