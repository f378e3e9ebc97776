package org.isobar.data.synthetic;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

import org.isobar.random.Philox;

/**
 * Draws the waves of the synthetic atmosphere. Extratropical waves travel as Rossby-Haurwitz waves in solid-body
 * westerlies U: {@code speed/m = U - 2 Omega/(n(n+1))} (Haurwitz, J. Marine Res. 1940). Short waves travel east with
 * the wind; long waves are slower. Tropical waves travel west. Energy per degree n rises to a peak and then falls as
 * n^-3, as observed.
 */
final class WaveSpectrum {
    /** Highest degree n of the extratropical waves, and highest wave number. */
    static final int MAX_DEGREE = 24;
    private static final double PEAK_DEGREE = 7.5;
    private static final double DEGREES_PER_DAY = Math.toRadians(1) / 24; // in radians per hour
    private static final double WESTERLIES = 27 * DEGREES_PER_DAY;
    private static final double SLOWEST = 3 * DEGREES_PER_DAY;
    private static final double EASTERLIES = -7 * DEGREES_PER_DAY;
    private static final double EXTRATROPICAL_WIND = 10.5; // m/s, root mean square of u at 500 hPa over the sphere
    private static final double TROPICAL_WIND = 2.5;

    private final SphereGrid grid;
    private final Philox.Key key;
    private long drawn;

    private WaveSpectrum(SphereGrid grid, Philox.Key key) {
        this.grid = grid;
        this.key = key;
    }

    /** The highest wave number that a grid of the given size resolves well. */
    static int maxWave(int height, int width) {
        return Math.min(MAX_DEGREE, Math.min(height, width / 2) / 2);
    }

    /** The travelling waves of a seed's weather: a stream function in m^2/s at 500 hPa. */
    static List<Wave> weather(SphereGrid grid, long seed) {
        WaveSpectrum spectrum = new WaveSpectrum(grid, Philox.Key.of(seed, "synthetic weather"));
        List<Wave> waves = new ArrayList<>(scaleToWind(spectrum.extratropical(), EXTRATROPICAL_WIND));
        waves.addAll(scaleToWind(spectrum.tropical(), TROPICAL_WIND));
        return waves;
    }

    /** A standing random field of about unit variance; continents and mountains are where it exceeds a threshold. */
    static List<Wave> landscape(SphereGrid grid, long seed, String purpose) {
        WaveSpectrum spectrum = new WaveSpectrum(grid, Philox.Key.of(seed, purpose));
        List<Wave> waves = new ArrayList<>();
        double power = 0;
        for (int n = 2; n <= grid.maxWave(); n++) {
            for (int m = 0; m <= n; m++) {
                Wave wave = spectrum.draw(n, m, lat -> 1, Math.pow(n * (n + 1.0), -0.9), 0, 0);
                waves.add(wave);
                power += wave.power() / (m == 0 ? 1 : 2);
            }
        }
        double scale = 1 / Math.sqrt(power);
        return waves.stream().map(wave -> wave.scaled(scale)).toList();
    }

    private List<Wave> extratropical() {
        List<Wave> waves = new ArrayList<>();
        for (int m = 1; m <= grid.maxWave(); m++) {
            for (int n = Math.max(m, 4); n <= MAX_DEGREE; n++) {
                double turn = 2 * SphereGrid.EARTH_ROTATION * 3600 / (n * (n + 1.0));
                double speed = Math.max(SLOWEST, WESTERLIES - turn);
                double energy = Math.pow(n / PEAK_DEGREE, 3) / (1 + Math.pow(n / PEAK_DEGREE, 6));
                double amplitude = Math.sqrt(energy / (n * (n + 1.0) * (2 * n + 1)));
                waves.add(draw(n, m, WaveSpectrum::stormTracks, amplitude, m * speed, 1));
            }
        }
        return waves;
    }

    private List<Wave> tropical() {
        List<Wave> waves = new ArrayList<>();
        for (int m = 3; m <= Math.min(12, grid.maxWave()); m++) {
            for (int n = m; n <= m + 1; n++) {
                waves.add(draw(n, m, WaveSpectrum::tropics, 1.0 / m, m * EASTERLIES, 1));
            }
        }
        return waves;
    }

    private static double stormTracks(double lat) {
        double sin = Math.sin(2 * lat);
        return 0.15 + sin * sin;
    }

    private static double tropics(double lat) {
        return Math.exp(-Math.pow(lat / Math.toRadians(13), 2));
    }

    /** Draws a wave with random phases; with {@code beats} 0 its amplitude is constant. */
    private Wave draw(int n, int m, DoubleUnaryOperator envelope, double spread, double speed, double beats) {
        Harmonics.Profile profile = Harmonics.profile(grid, n, m, envelope);
        double amplitude = spread * (0.6 + 0.8 * uniform());
        double beat = beats * 2 * Math.PI / (24 * (12 + 28 * uniform())) * (uniform() < 0.5 ? -1 : 1);
        return new Wave(m, profile.value(), profile.slope(), amplitude, 2 * Math.PI * uniform(), speed,
            2 * Math.PI * uniform(), beat);
    }

    private double uniform() {
        return Philox.uniform(key, drawn++);
    }

    /** Scales waves so that the zonal wind -slope/radius has the given root mean square over sphere and time. */
    private static List<Wave> scaleToWind(List<Wave> waves, double wind) {
        double square = 0;
        for (Wave wave : waves) {
            double sum = 0;
            double area = 0;
            double[] slope = wave.slope();
            for (int j = 0; j < slope.length; j++) {
                double cos = Math.sin(Math.PI * j / (slope.length - 1)); // cosine of latitude
                sum += cos * slope[j] * slope[j];
                area += cos;
            }
            square += wave.power() / 2 * sum / area;
        }
        double scale = wind * SphereGrid.EARTH_RADIUS / Math.sqrt(square);
        return waves.stream().map(wave -> wave.scaled(scale)).toList();
    }
}
