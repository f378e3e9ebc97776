package org.isobar.data.synthetic;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.isobar.data.Era5Variable;
import org.junit.jupiter.api.Test;

/** The synthetic atmosphere has the balances and the noise that its documentation states. */
class WeatherFrameTest {
    private static final SyntheticConfig CONFIG = new SyntheticConfig(91, 180, 1, 1, 0, 365, 11);
    private final SyntheticWeather weather = new SyntheticWeather(CONFIG);
    private final WeatherFrame frame = new WeatherFrame(weather);

    @Test
    void aFrameIsAFunctionOfItsNumber() {
        frame.moveTo(40);
        float[] direct = frame.field(Era5Variable.T850).clone();
        WeatherFrame other = new WeatherFrame(new SyntheticWeather(CONFIG));
        other.moveTo(3);
        other.moveTo(40);
        assertArrayEquals(direct, other.field(Era5Variable.T850));
    }

    /** Eddies have z = f psi and (u, v) = (-psi_y, psi_x), so z_x = f v and z_y = -f u + psi f_y, by differences. */
    @Test
    void windAndPressureOfTheEddiesBalance() {
        frame.computeState(100);
        float[] z = minusMean(Era5Variable.Z500, weather.means().z500());
        float[] u = minusMean(Era5Variable.U500, weather.means().wind500());
        float[] v = frame.field(Era5Variable.V500);
        SphereGrid grid = weather.grid();
        double spacing = 2 * Math.toRadians(2) * SphereGrid.EARTH_RADIUS;
        double errors = 0;
        double winds = 0;
        for (int j = 12; j < 32; j++) { // 66 to 28 degrees north
            double f = grid.coriolis(j);
            double fy = (grid.coriolis(j - 1) - grid.coriolis(j + 1)) / spacing;
            for (int i = 1; i < 179; i++) {
                int p = j * 180 + i;
                double zx = (z[p + 1] - z[p - 1]) / (spacing * Math.cos(grid.latitude(j)));
                double zy = (z[p - 180] - z[p + 180]) / spacing;
                errors += Math.pow(v[p] - zx / f, 2) + Math.pow(u[p] + (zy - z[p] / f * fy) / f, 2);
                winds += v[p] * v[p] + u[p] * u[p];
            }
        }
        double imbalance = Math.sqrt(errors / winds); // of the differences: (k dx)^2 / 6, 0.02 for 10 waves a circle
        assertTrue(imbalance < 0.04, "relative imbalance " + imbalance);
    }

    private float[] minusMean(Era5Variable variable, Climate.Seasonal mean) {
        float[] eddies = new float[weather.grid().points()];
        mean.at(weather.season(100), eddies);
        for (int p = 0; p < eddies.length; p++) {
            eddies[p] = frame.field(variable)[p] - eddies[p];
        }
        return eddies;
    }

    @Test
    void theNoiseHasItsDocumentedSpread() {
        frame.computeState(7);
        float[] state = frame.field(Era5Variable.Z500).clone();
        frame.moveTo(7);
        float[] observed = frame.field(Era5Variable.Z500);
        double sum = 0;
        double square = 0;
        for (int p = 0; p < state.length; p++) {
            double error = observed[p] - state[p];
            sum += error;
            square += error * error;
        }
        double deviation = ObservationNoise.deviation(Era5Variable.Z500);
        double standardError = 1 / Math.sqrt(state.length);
        assertEquals(0, sum / state.length / deviation, 4 * standardError);
        assertEquals(1, Math.sqrt(square / state.length) / deviation, 4 * standardError);
    }

    @Test
    void theDailyCycleFollowsTheSun() {
        frame.computeState(0);
        float[] midnight = frame.field(Era5Variable.T2M).clone(); // at longitude 0
        frame.computeState(2);
        float[] noon = frame.field(Era5Variable.T2M);
        float[] land = weather.climate().land();
        double warming = 0;
        double cooling = 0;
        for (int p = 0; p < land.length; p++) {
            double here = land[p] > 0.9 ? noon[p] - midnight[p] : 0;
            int column = p % 180;
            warming += column < 30 || column >= 150 ? here : 0;
            cooling += column >= 60 && column < 120 ? here : 0;
        }
        assertTrue(warming > 0 && cooling < 0, "warming " + warming + ", on the other side " + cooling);
    }

    @Test
    void valuesArePhysicallyPlausible() {
        for (int number = 0; number < 365; number += 73) {
            frame.moveTo(number);
            assertWithin(Era5Variable.T2M, 190, 330);
            assertWithin(Era5Variable.SP, 45_000, 110_000);
            assertWithin(Era5Variable.R500, 0, 110);
            assertWithin(Era5Variable.U500, -90, 110);
        }
    }

    private void assertWithin(Era5Variable variable, double low, double high) {
        for (float value : frame.field(variable)) {
            assertTrue(value >= low && value <= high, variable + " is " + value);
        }
        assertTrue(Arrays.stream(toDoubles(frame.field(variable))).distinct().count() > 1000);
    }

    private static double[] toDoubles(float[] values) {
        double[] doubles = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            doubles[i] = values[i];
        }
        return doubles;
    }
}
