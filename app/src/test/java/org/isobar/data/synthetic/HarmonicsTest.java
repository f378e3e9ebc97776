package org.isobar.data.synthetic;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares Legendre functions with closed forms and checks their norm. */
class HarmonicsTest {
    @Test
    void agreesWithClosedForms() {
        for (double lat = -1.5; lat <= 1.5; lat += 0.25) {
            double x = Math.sin(lat);
            double cos = Math.cos(lat);
            assertEquals(Math.sqrt(3) * x, Harmonics.legendre(1, 0, lat), 1e-14);
            assertEquals(Math.sqrt(3) * cos, Harmonics.legendre(1, 1, lat), 1e-14);
            assertEquals(Math.sqrt(5) / 2 * (3 * x * x - 1), Harmonics.legendre(2, 0, lat), 1e-13);
            assertEquals(Math.sqrt(15) * x * cos, Harmonics.legendre(2, 1, lat), 1e-13);
            assertEquals(Math.sqrt(15) / 2 * cos * cos, Harmonics.legendre(2, 2, lat), 1e-13);
        }
    }

    @ParameterizedTest
    @CsvSource({"5, 0, 1", "8, 3, 0.5", "24, 24, 0.5", "24, 7, 0.5"})
    void meanSquareOverTheSphere(int n, int m, double meanSquareOfCosine) {
        double sum = 0;
        int steps = 20_000;
        for (int k = 0; k < steps; k++) {
            double x = -1 + (2 * k + 1.0) / steps;
            double value = Harmonics.legendre(n, m, Math.asin(x));
            sum += value * value * meanSquareOfCosine / steps;
        }
        assertEquals(1, sum, 1e-5);
    }

    @Test
    void slopesAreDerivatives() {
        SphereGrid grid = new SphereGrid(19, 16, 4);
        Harmonics.Profile profile = Harmonics.profile(grid, 2, 1, lat -> 1);
        for (int j = 0; j < grid.height(); j++) {
            assertEquals(Math.sqrt(15) * Math.cos(2 * grid.latitude(j)), profile.slope()[j], 1e-8);
        }
    }
}
