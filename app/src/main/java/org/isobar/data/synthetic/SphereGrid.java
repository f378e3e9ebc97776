package org.isobar.data.synthetic;

/**
 * A latitude-longitude grid as in ERA5: row 0 is the north pole, the last row the south pole, column 0 lies at
 * longitude 0 and columns go east. Angles in radians.
 */
final class SphereGrid {
    /** Mean radius of the earth in metres. */
    static final double EARTH_RADIUS = 6.371e6;
    /** Angular velocity of the earth in radians per second. */
    static final double EARTH_ROTATION = 7.292e-5;

    private final int height;
    private final int width;
    private final double[] latitude;
    private final float[][] cosines;
    private final float[][] sines;

    /**
     * Creates a grid of {@code height} latitudes and {@code width} longitudes, for wave numbers up to
     * {@code maxWave}.
     */
    SphereGrid(int height, int width, int maxWave) {
        this.height = height;
        this.width = width;
        latitude = new double[height];
        for (int j = 0; j < height; j++) {
            latitude[j] = Math.PI * (0.5 - (double) j / (height - 1));
        }
        cosines = new float[maxWave + 1][width];
        sines = new float[maxWave + 1][width];
        for (int m = 0; m <= maxWave; m++) {
            for (int i = 0; i < width; i++) {
                cosines[m][i] = (float) Math.cos(m * longitude(i));
                sines[m][i] = (float) Math.sin(m * longitude(i));
            }
        }
    }

    int height() {
        return height;
    }

    int width() {
        return width;
    }

    int points() {
        return height * width;
    }

    int maxWave() {
        return cosines.length - 1;
    }

    double latitude(int row) {
        return latitude[row];
    }

    double longitude(int column) {
        return 2 * Math.PI * column / width;
    }

    /** Coriolis parameter 2 Omega sin(latitude) of a row, 1/s. */
    double coriolis(int row) {
        return 2 * EARTH_ROTATION * Math.sin(latitude[row]);
    }

    /** Adds a wave to a row: {@code field[row, i] += re cos(m lon_i) - im sin(m lon_i)}. */
    void addWave(float[] field, int row, int m, float re, float im) {
        float[] cosine = cosines[m];
        float[] sine = sines[m];
        int start = row * width;
        for (int i = 0; i < width; i++) {
            field[start + i] += re * cosine[i] - im * sine[i];
        }
    }
}
