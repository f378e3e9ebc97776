package org.isobar.data.synthetic;

import java.util.Arrays;

/**
 * Solves {@code dT/dt + u . grad T = (C - T) / tau} for a wind u that is steady in a frame travelling east. The exact
 * solution is the mean of the climate C along the backward trajectory of the air, weighted by exp(-age / tau).
 * Trajectories are followed backwards in a few steps. The waves thereby fold the mean temperature into fronts and
 * plumes. Not thread-safe.
 */
final class Advection {
    private static final int STEPS = 6;
    private static final double STEP_HOURS = 8;
    private static final double FRAME = Math.toRadians(15) / 24; // radians per hour
    private static final double MIN_COSINE = 0.15; // prevents trajectories from circling the poles

    private final SphereGrid grid;
    private final float[] east;
    private final float[] south;

    Advection(SphereGrid grid) {
        this.grid = grid;
        east = new float[grid.points()];
        south = new float[grid.points()];
    }

    /**
     * A quantity carried by the wind.
     *
     * @param climate  its mean field C, (height, width)
     * @param hours    its relaxation time tau
     * @param solution receives the solution, (height, width)
     */
    record Tracer(float[] climate, double hours, float[] solution) {
        float[] weights() {
            float[] weights = new float[STEPS + 1];
            double sum = 0;
            for (int k = 0; k <= STEPS; k++) {
                sum += Math.exp(-k * STEP_HOURS / hours);
            }
            for (int k = 0; k <= STEPS; k++) {
                weights[k] = (float) (Math.exp(-k * STEP_HOURS / hours) / sum);
            }
            return weights;
        }
    }

    /** Computes the solution of two tracers for the wind (u, v) in m/s. */
    void carry(float[] u, float[] v, Tracer first, Tracer second) {
        toGridSteps(u, v);
        float[] weights1 = first.weights();
        float[] weights2 = second.weights();
        Arrays.fill(first.solution(), 0);
        Arrays.fill(second.solution(), 0);
        int width = grid.width();
        for (int j = 0; j < grid.height(); j++) {
            for (int i = 0; i < width; i++) {
                follow(i, j, first, weights1, second, weights2);
            }
        }
    }

    /** Converts the wind to columns and rows per step, relative to the moving frame. */
    private void toGridSteps(float[] u, float[] v) {
        double seconds = STEP_HOURS * 3600;
        float rows = (float) (seconds / SphereGrid.EARTH_RADIUS * (grid.height() - 1) / Math.PI);
        double columns = grid.width() / (2 * Math.PI);
        float frame = (float) (FRAME * STEP_HOURS * columns);
        for (int j = 0; j < grid.height(); j++) {
            double cos = Math.max(MIN_COSINE, Math.cos(grid.latitude(j)));
            float scale = (float) (seconds / (SphereGrid.EARTH_RADIUS * cos) * columns);
            for (int p = j * grid.width(); p < (j + 1) * grid.width(); p++) {
                east[p] = u[p] * scale - frame;
                south[p] = -v[p] * rows;
            }
        }
    }

    private void follow(int i, int j, Tracer first, float[] weights1, Tracer second, float[] weights2) {
        int width = grid.width();
        int last = grid.height() - 1;
        int start = j * width + i;
        float sum1 = weights1[0] * first.climate()[start];
        float sum2 = weights2[0] * second.climate()[start];
        float x = i - east[start];
        float y = j - south[start];
        for (int k = 1; k <= STEPS; k++) {
            x = x < 0 ? x + width : x >= width ? x - width : x;
            y = Math.max(0, Math.min(last, y));
            int column = Math.min((int) x, width - 1);
            int row = Math.min((int) y, last - 1);
            float fx = x - column;
            float fy = y - row;
            int p00 = row * width + column;
            int p01 = column + 1 == width ? p00 + 1 - width : p00 + 1;
            float w00 = (1 - fx) * (1 - fy);
            float w01 = fx * (1 - fy);
            float w10 = (1 - fx) * fy;
            float w11 = fx * fy;
            int p10 = p00 + width;
            int p11 = p01 + width;
            float[] c1 = first.climate();
            float[] c2 = second.climate();
            sum1 += weights1[k] * (w00 * c1[p00] + w01 * c1[p01] + w10 * c1[p10] + w11 * c1[p11]);
            sum2 += weights2[k] * (w00 * c2[p00] + w01 * c2[p01] + w10 * c2[p10] + w11 * c2[p11]);
            x -= w00 * east[p00] + w01 * east[p01] + w10 * east[p10] + w11 * east[p11];
            y -= w00 * south[p00] + w01 * south[p01] + w10 * south[p10] + w11 * south[p11];
        }
        first.solution()[start] = sum1;
        second.solution()[start] = sum2;
    }
}
