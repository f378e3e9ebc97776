package org.isobar.data.channels;

import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;

/**
 * Sine and cosine of the hour of the day and of the part of the year that has passed, in UTC. Each is one number for
 * the whole image.
 */
public final class TimeChannels {
    /** Names of the channels, in order. */
    public static final List<String> NAMES = List.of("sin_day", "cos_day", "sin_year", "cos_year");
    private static final double SECONDS_PER_DAY = 86_400;

    private TimeChannels() { }

    /** The values at a time, in the order of {@link #NAMES}. A year begins on 1 January, 0 UTC, whatever its length. */
    public static float[] at(LocalDateTime time) {
        LocalDate date = time.toLocalDate();
        double seconds = Duration.between(date.withDayOfYear(1).atStartOfDay(), time).toSeconds();
        double day = 2 * Math.PI * (seconds / SECONDS_PER_DAY % 1);
        double year = 2 * Math.PI * seconds / (SECONDS_PER_DAY * date.lengthOfYear());
        return new float[] {(float) Math.sin(day), (float) Math.cos(day), (float) Math.sin(year),
            (float) Math.cos(year)};
    }
}
