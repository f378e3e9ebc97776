package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Single waves, and Parseval's theorem, for rows of even, odd and prime length. */
class ZonalSpectrumTest {
    private static final double ROUNDING = 1e-6; // of fields in single precision

    /** A wave of amplitude 3 has a mean square of 9 / 2; the shortest one of an even row, +3 and -3, of 9. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 7, 8, 12, 31, 45, 256})
    void eachWaveHasItsWavenumber(int columns) {
        ZonalSpectrum spectrum = new ZonalSpectrum(new double[] {1}, columns);
        for (int wavenumber = 0; wavenumber <= columns / 2; wavenumber++) {
            float[] wave = new float[columns];
            for (int x = 0; x < columns; x++) {
                wave[x] = (float) (3 * Math.cos(2 * Math.PI * wavenumber * x / columns));
            }
            double[] power = spectrum.power(MemorySegment.ofArray(wave));
            assertEquals(columns / 2 + 1, power.length);
            for (int k = 0; k < power.length; k++) {
                double whole = k == 0 || 2 * k == columns ? 9 : 4.5;
                assertEquals(k == wavenumber ? whole : 0, power[k], 9 * ROUNDING);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {5, 16, 17, 360})
    void theSumIsTheWeightedMeanSquare(int columns) {
        double[] weights = {0.5, 1.5};
        float[] field = new float[2 * columns];
        Random random = new Random(columns);
        double squares = 0;
        for (int i = 0; i < field.length; i++) {
            field[i] = random.nextFloat() - 0.3f;
            squares += weights[i / columns] * field[i] * field[i] / field.length;
        }
        double[] power = new ZonalSpectrum(weights, columns).power(MemorySegment.ofArray(field));
        assertEquals(squares, Arrays.stream(power).sum(), 1e-14);
    }

    /** Rows of 12 points: small scales are wavenumbers 3 to 6, four cells and less. */
    @Test
    void blurringLowersTheRatio() {
        SpectrumMeans spectra = new SpectrumMeans(1, 1, 12);
        spectra.add(SpectrumMeans.Side.TRUTH, 1, 0, new double[] {9, 9, 9, 4, 3, 2, 1});
        spectra.add(SpectrumMeans.Side.FORECAST, 1, 0, new double[] {9, 9, 0, 3, 2, 0, 0});
        assertEquals(0.5, spectra.smallScaleRatio(1, 0));
    }

    @Test
    void anotherSizeIsRefused() {
        ZonalSpectrum spectrum = new ZonalSpectrum(new double[] {1, 1}, 4);
        assertThrows(IllegalArgumentException.class, () -> spectrum.power(MemorySegment.ofArray(new float[7])));
        assertThrows(IllegalArgumentException.class, () -> new ZonalSpectrum(new double[] {1}, 1));
    }
}
