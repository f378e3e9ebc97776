package org.isobar.data.survey;

import static org.isobar.data.ClimatologyFile.DAYS;

/**
 * The window over days of the year that smooths a climatology, as WeatherBench 2 defines it (Rasp et al. 2024,
 * doi:10.1029/2023MS004019; {@code create_window_weights} in {@code weatherbench2/utils.py}): 61 days wide, with
 * weights that decrease linearly from the day itself to zero 30 days before and after it. The year is a circle of 366
 * days. A day without data has no weight.
 */
final class SeasonalWindow {
    private static final int HALF_WIDTH = 30; // of 61 days

    private SeasonalWindow() { }

    /**
     * The weight of each day in the mean around {@code day}; the weights add up to 1, or are all 0 if no day in the
     * window has data.
     *
     * @param day    day of the year, counted from 0
     * @param counts number of values of each day, of 366
     */
    static double[] weights(int day, int[] counts) {
        double[] weights = new double[DAYS];
        double sum = 0;
        for (int offset = -HALF_WIDTH; offset <= HALF_WIDTH; offset++) {
            int at = Math.floorMod(day + offset, DAYS);
            weights[at] = counts[at] == 0 ? 0 : 1 - Math.abs(offset) / (double) HALF_WIDTH;
            sum += weights[at];
        }
        for (int at = 0; at < DAYS && sum > 0; at++) {
            weights[at] /= sum;
        }
        return weights;
    }
}
