package org.isobar.data;

import java.util.Arrays;
import java.util.List;

/**
 * Maps the numbers of samples to years and time steps. The rule for one year is the tutorial's: a year of n time steps
 * has n samples, and sample j of it has its input at time {@code t = j mod (n - dt)}, or at {@code t + dt} if t is
 * below dt. A few samples of each year are therefore equal. Each year has its own n, so leap years and incomplete years
 * keep all their time steps. The tutorial uses n of the first year for all.
 */
public final class YearIndex {
    private final int[] times; // n of each year
    private final long[] first; // number of the first sample of each year
    private final int dt;
    private final int size;

    /**
     * The years that contain the first {@code limit} samples.
     *
     * @param times number of time steps of each year, in order
     * @param dt    distance of target and input in time steps
     */
    YearIndex(List<Integer> times, int dt, long limit) {
        long[] ends = times.stream().mapToLong(Integer::longValue).toArray();
        Arrays.parallelPrefix(ends, Long::sum);
        size = Math.toIntExact(Math.min(ends[ends.length - 1], limit));
        int used = (int) Arrays.stream(ends).takeWhile(end -> end < size).count() + 1;
        this.times = times.stream().limit(used).mapToInt(Integer::intValue).toArray();
        first = new long[used];
        System.arraycopy(ends, 0, first, 1, used - 1);
        this.dt = dt;
    }

    /** Number of samples. */
    public int size() {
        return size;
    }

    /** Number of years that the samples come from. */
    public int years() {
        return times.length;
    }

    /** Number of samples of a year, which is its number of time steps. */
    public int samples(int year) {
        return times[year];
    }

    /** Whether all years have the same number of time steps. */
    public boolean isUniform() {
        return Arrays.stream(times).allMatch(n -> n == times[0]);
    }

    /** Number of time steps of a year as text: {@code 1460}, or {@code 1460 to 1464} if years differ. */
    public String lengths() {
        return isUniform() ? String.valueOf(times[0])
            : Arrays.stream(times).min().getAsInt() + " to " + Arrays.stream(times).max().getAsInt();
    }

    /** The year of a sample, counted from 0. */
    int yearOf(long sample) {
        int found = Arrays.binarySearch(first, sample);
        return found >= 0 ? found : -found - 2;
    }

    /** Time step of a sample's input in its year. */
    int timeOf(long sample) {
        int year = yearOf(sample);
        int local = (int) (sample - first[year]) % (times[year] - dt);
        return local < dt ? local + dt : local;
    }
}
