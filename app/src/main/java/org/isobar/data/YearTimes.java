package org.isobar.data;

import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.OptionalInt;

import org.isobar.fault.UserException;

/** The times of a year file: equal steps of whole hours from 1 January, 0 UTC. */
final class YearTimes {
    private static final DateTimeFormatter TEXT = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss");
    private static final String REMEDY = " Make it again with equal steps of whole hours from 1 January, 0 UTC, or "
        + "move it out of the directory.";
    private static final int YEAR_DIGITS = 4;
    private static final int SECONDS_PER_HOUR = 3600;
    private static final String SECONDS = "seconds since 1970-01-01([T ]00:00(:00(\\.0+)?)?)?( ?(UTC|Z|\\+00:00))?";

    private YearTimes() { }

    /** The year that a file's name ends in; empty if it does not end in one. */
    static OptionalInt year(Path path) {
        String stem = path.getFileName().toString().replaceFirst("\\.h5$", "");
        String year = stem.substring(Math.max(0, stem.length() - YEAR_DIGITS));
        return year.matches("[0-9]+") ? OptionalInt.of(Integer.parseInt(year)) : OptionalInt.empty();
    }

    /** The time of a frame of a year. */
    static LocalDateTime time(int year, int frame, int hoursPerFrame) {
        return LocalDate.of(year, 1, 1).atStartOfDay().plusHours((long) frame * hoursPerFrame);
    }

    /**
     * Hours from one time step to the next; empty if the file has no times, or only one.
     *
     * @param frames number of time steps of the data
     * @throws UserException if the times are not those of a year file
     */
    static OptionalInt hours(Path path, Hdf5Companions companions, int frames) {
        String name = companions.numbers().containsKey("time") ? "time" : "timestamp";
        double[] seconds = companions.numbers().get(name);
        if (seconds == null) {
            return OptionalInt.empty();
        }
        String subject = "Data set '" + name + "' of " + path;
        String unit = companions.units().getOrDefault(name, "");
        if (!unit.isEmpty() && !unit.matches(SECONDS)) {
            throw new UserException(subject + " is in " + unit + ", expected seconds since 1970-01-01 00:00:00."
                + REMEDY);
        }
        if (seconds.length != frames) {
            throw new UserException(subject + " has " + seconds.length + " times for " + frames + " time steps."
                + REMEDY);
        }
        checkStart(path, subject, seconds[0]);
        return frames == 1 ? OptionalInt.empty() : OptionalInt.of(step(subject, seconds));
    }

    private static void checkStart(Path path, String subject, double first) {
        LocalDateTime start = LocalDateTime.MIN;
        try {
            start = LocalDateTime.ofInstant(Instant.ofEpochSecond((long) first), ZoneOffset.UTC);
        } catch (DateTimeException outOfRange) {
            // not the beginning of any year
        }
        int year = year(path).orElse(start.getYear());
        if (first != Math.rint(first) || !start.equals(time(year, 0, 1))) {
            throw new UserException(subject + " begins at " + text(first) + ", and not on 1 January " + year
                + ", 0 UTC." + REMEDY);
        }
    }

    private static int step(String subject, double[] seconds) {
        double step = seconds[1] - seconds[0];
        for (int i = 1; i < seconds.length; i++) {
            if (seconds[i] - seconds[i - 1] != step || step <= 0) {
                throw new UserException(subject + " is not regular: time step " + i + " is " + text(seconds[i])
                    + ", after " + text(seconds[i - 1]) + "." + REMEDY);
            }
        }
        if (step % SECONDS_PER_HOUR != 0) {
            throw new UserException(subject + " has steps of " + step + " seconds, which are no whole hours."
                + REMEDY);
        }
        return (int) Math.min(step / SECONDS_PER_HOUR, Integer.MAX_VALUE);
    }

    private static String text(double seconds) {
        try {
            return TEXT.format(LocalDateTime.ofInstant(Instant.ofEpochSecond((long) seconds), ZoneOffset.UTC));
        } catch (DateTimeException outOfRange) {
            return seconds + " seconds";
        }
    }
}
