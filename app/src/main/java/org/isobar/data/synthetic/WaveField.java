package org.isobar.data.synthetic;

import java.util.Arrays;
import java.util.List;

/**
 * Evaluates a stream function on the sphere that is a sum of waves. For each row j and wave number m, holds the complex
 * amplitude {@code A(m, j, t) = sum over waves of c(t) structure(j)} at one time t, and its derivative by latitude. Not
 * thread-safe.
 */
final class WaveField {
    private final SphereGrid grid;
    private final List<Wave> waves;
    private final double[][] re;
    private final double[][] im;
    private final double[][] slopeRe;
    private final double[][] slopeIm;

    WaveField(SphereGrid grid, List<Wave> waves) {
        this.grid = grid;
        this.waves = waves;
        int count = grid.maxWave() + 1;
        re = new double[count][grid.height()];
        im = new double[count][grid.height()];
        slopeRe = new double[count][grid.height()];
        slopeIm = new double[count][grid.height()];
    }

    /** Sets the amplitudes to those of the given time. */
    void moveTo(double hours) {
        for (int m = 0; m < re.length; m++) {
            Arrays.fill(re[m], 0);
            Arrays.fill(im[m], 0);
            Arrays.fill(slopeRe[m], 0);
            Arrays.fill(slopeIm[m], 0);
        }
        for (Wave wave : waves) {
            int m = wave.number();
            double cRe = wave.re(hours);
            double cIm = wave.im(hours);
            for (int j = 0; j < grid.height(); j++) {
                re[m][j] += cRe * wave.structure()[j];
                im[m][j] += cIm * wave.structure()[j];
                slopeRe[m][j] += cRe * wave.slope()[j];
                slopeIm[m][j] += cIm * wave.slope()[j];
            }
        }
    }

    /**
     * Computes the stream function of a level and its derivatives by latitude and longitude in radians, each of shape
     * (height, width).
     */
    void synthesize(Level level, float[] value, float[] byLatitude, float[] byLongitude) {
        Arrays.fill(value, 0);
        Arrays.fill(byLatitude, 0);
        Arrays.fill(byLongitude, 0);
        for (int j = 0; j < grid.height(); j++) {
            for (int m = 0; m < re.length; m++) {
                double cos = level.gain(m) * Math.cos(m * level.tilt());
                double sin = level.gain(m) * Math.sin(m * level.tilt());
                float a = (float) (re[m][j] * cos - im[m][j] * sin);
                float b = (float) (re[m][j] * sin + im[m][j] * cos);
                grid.addWave(value, j, m, a, b);
                grid.addWave(byLongitude, j, m, -m * b, m * a);
                grid.addWave(byLatitude, j, m, (float) (slopeRe[m][j] * cos - slopeIm[m][j] * sin),
                    (float) (slopeRe[m][j] * sin + slopeIm[m][j] * cos));
            }
        }
    }
}
