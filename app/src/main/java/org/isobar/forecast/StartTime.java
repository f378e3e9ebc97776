package org.isobar.forecast;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;

/**
 * The initial time of a forecast, which is the time of a frame of the data.
 *
 * @param year  year of the frame
 * @param frame index of the frame in its year
 * @param hoursPerFrame hours from one frame to the next
 */
public record StartTime(int year, int frame, int hoursPerFrame) {
    private static final DateTimeFormatter HOURS = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH");

    /**
     * Parses initial times that are separated by commas, such as {@code 2018-01-03T00,2018:9}: a date, a date and hour
     * in UTC, or a year and the index of a frame in it.
     *
     * @param hoursPerFrame hours from one frame of the data to the next
     * @throws UserException if one is not of these forms, or no frame has its time
     */
    public static List<StartTime> parse(String text, int hoursPerFrame) {
        List<StartTime> starts = Arrays.stream(text.split(",", -1)).map(String::strip)
            .map(start -> one(start, hoursPerFrame)).toList();
        if (starts.stream().distinct().count() < starts.size()) {
            throw new UserException(PlainText.of("--start " + text + " gives a time twice; give each once"));
        }
        return starts;
    }

    private static StartTime one(String text, int hoursPerFrame) {
        if (text.matches("\\d{4}:\\d{1,6}")) {
            String[] parts = text.split(":");
            return new StartTime(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), hoursPerFrame);
        }
        LocalDateTime time;
        try {
            time = text.contains("T") ? LocalDateTime.parse(text.length() == 13 ? text + ":00" : text)
                : LocalDate.parse(text).atStartOfDay();
        } catch (DateTimeException malformed) {
            throw new UserException(PlainText.of("--start " + text + " is not a time; give a date, such as "
                + "2018-01-03T00, or a year and a frame, such as 2018:8"), malformed);
        }
        return at(time, hoursPerFrame).orElseThrow(() -> new UserException("--start " + text + ": frames are "
            + hoursPerFrame + " hours apart, from 00 UTC on; give a time of a frame"));
    }

    /** The frame of a time in UTC; empty if there is none at this time. */
    static Optional<StartTime> at(LocalDateTime time, int hoursPerFrame) {
        Duration since = Duration.between(LocalDate.of(time.getYear(), 1, 1).atStartOfDay(), time);
        Duration step = Duration.ofHours(hoursPerFrame);
        return step.multipliedBy(since.dividedBy(step)).equals(since)
            ? Optional.of(new StartTime(time.getYear(), (int) since.dividedBy(step), hoursPerFrame))
            : Optional.empty();
    }

    /** The time in UTC. */
    public LocalDateTime time() {
        return LocalDate.of(year, 1, 1).atStartOfDay().plusHours((long) frame * hoursPerFrame);
    }

    /** The date and the hour, such as {@code 2018-01-03T00}. */
    @Override
    public String toString() {
        return HOURS.format(time());
    }
}
