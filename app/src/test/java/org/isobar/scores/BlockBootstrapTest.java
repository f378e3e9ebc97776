package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDateTime;
import java.util.List;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

/** Intervals that follow from few blocks, and from the normal distribution. */
class BlockBootstrapTest {
    private static final LocalDateTime START = LocalDateTime.of(2018, 1, 1, 0, 0);
    private static final ToDoubleFunction<double[]> MEAN = means -> means[0];

    private static List<LocalDateTime> daily(int days) {
        return IntStream.range(0, days).mapToObj(START::plusDays).toList();
    }

    @Test
    void oneBlockHasNoInterval() {
        BlockBootstrap bootstrap = new BlockBootstrap(daily(10), 0);
        Estimate estimate = bootstrap.estimate(MEAN, IntStream.rangeClosed(1, 10).asDoubleStream().toArray());
        assertEquals(1, bootstrap.blocks());
        assertEquals(new Estimate(5.5, Double.NaN, Double.NaN), estimate);
    }

    /**
     * Two blocks, of ten times with 1 and of five with 4: resamples have the first block twice, the second twice, or
     * both, so the average of all times is 1, 4 or 2. The first two are a quarter of the resamples each.
     */
    @Test
    void blocksAreDrawnWhole() {
        double[] series = IntStream.range(0, 15).mapToDouble(i -> i < 10 ? 1 : 4).toArray();
        assertEquals(new Estimate(2, 1, 4), new BlockBootstrap(daily(15), 0).estimate(MEAN, series));
    }

    @Test
    void timesWithoutForecastsAreNoBlocks() {
        LocalDateTime next = START.plusYears(1);
        List<LocalDateTime> times = List.of(START, START.plusDays(9), next, next.plusDays(11));
        assertEquals(3, new BlockBootstrap(times, 0).blocks());
    }

    /** A constant difference has no uncertainty, however much both forecasts vary. */
    @Test
    void seriesArePaired() {
        Random random = new Random(1);
        double[] first = random.doubles(100).toArray();
        double[] second = IntStream.range(0, 100).mapToDouble(i -> first[i] + 2).toArray();
        Estimate difference = new BlockBootstrap(daily(100), 7).estimate(m -> m[1] - m[0], first, second);
        assertEquals(2, difference.low(), 1e-12);
        assertEquals(2, difference.high(), 1e-12);
    }

    /** One time in each of 400 blocks: the standard error of the mean of normal numbers is 1/20. */
    @Test
    void intervalsHaveTheWidthOfTheNormalDistribution() {
        Random random = new Random(2);
        double[] series = IntStream.range(0, 400).mapToDouble(i -> random.nextGaussian()).toArray();
        List<LocalDateTime> times = IntStream.range(0, 400).mapToObj(i -> START.plusDays(10L * i)).toList();
        Estimate estimate = new BlockBootstrap(times, 3).estimate(MEAN, series);
        assertEquals(2 * 1.96 / 20, estimate.high() - estimate.low(), 0.02); // 10 %: the error of 1000 resamples
        assertTrue(estimate.low() < estimate.value() && estimate.value() < estimate.high());
    }

    @Test
    void theSeedDecides() {
        double[] series = new Random(3).doubles(100).toArray();
        Estimate estimate = new BlockBootstrap(daily(100), 1).estimate(MEAN, series);
        assertEquals(estimate, new BlockBootstrap(daily(100), 1).estimate(MEAN, series));
        assertNotEquals(estimate, new BlockBootstrap(daily(100), 2).estimate(MEAN, series));
    }

    @Test
    void anUndefinedScoreHasNoInterval() {
        Estimate estimate = new BlockBootstrap(daily(30), 0).estimate(means -> Double.NaN, new double[30]);
        assertEquals(new Estimate(Double.NaN, Double.NaN, Double.NaN), estimate);
    }
}
