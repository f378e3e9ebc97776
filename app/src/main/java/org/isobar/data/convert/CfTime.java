package org.isobar.data.convert;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.UserException;

/**
 * Decodes times as the CF conventions (section 4.4, "Time Coordinate") store them: numbers of a unit since a date, in a
 * calendar.
 */
final class CfTime {
    private static final Pattern UNITS = Pattern.compile("\\s*([A-Za-z]+)\\s+since\\s+(\\d{1,4})-(\\d{1,2})-(\\d{1,2})"
        + "(?:[T\\s]+(\\d{1,2}):(\\d{1,2})(?::(\\d{1,2})(?:\\.\\d*)?)?)?\\s*(?:Z|UTC|GMT|[+-]0{1,2}:?0{0,2})?\\s*");
    private static final Map<String, Double> SECONDS = Map.of("nanosecond", 1e-9, "microsecond", 1e-6,
        "millisecond", 1e-3, "second", 1.0, "minute", 60.0, "hour", 3600.0, "day", 86400.0);
    private static final Map<String, String> SHORT = Map.of("s", "second", "sec", "second", "min", "minute",
        "h", "hour", "hr", "hour", "d", "day");
    private static final DateTimeFormatter TEXT = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss")
        .withZone(ZoneOffset.UTC);
    private static final LocalDate GREGORIAN = LocalDate.of(1582, 10, 15);
    private static final int[] DAYS_BEFORE = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    private static final int DAYS_OF_YEAR = 365;
    private static final long SECONDS_PER_DAY = 86400;
    private static final double LARGEST = 1e12; // seconds: 30 000 years

    private CfTime() { }

    /** Whether an attribute {@code units} is one of times. */
    static boolean isTime(String units) {
        return units.matches("\\s*[A-Za-z]+\\s+since\\s.*");
    }

    /**
     * Decodes times.
     *
     * @param subject  the array they come from, for messages
     * @param units    for example {@code hours since 1900-01-01 00:00:00.0}
     * @param calendar for example {@code proleptic_gregorian}
     * @return seconds since 1970-01-01, 0 UTC
     * @throws UserException if units or calendar are not supported, or a time is not a finite number
     */
    static long[] decode(String subject, String units, String calendar, double[] values) {
        Matcher matcher = UNITS.matcher(units);
        String unit = matcher.matches() ? unit(matcher.group(1)) : "";
        if (!SECONDS.containsKey(unit)) {
            throw new UserException(subject + " has the units '" + units
                + "', expected seconds, minutes, hours or days since a date. Store times in one of these.");
        }
        String name = calendar.toLowerCase(Locale.ROOT);
        boolean noLeap = name.equals("noleap") || name.equals("365_day");
        if (!noLeap && !name.matches("standard|gregorian|proleptic_gregorian")) {
            throw new UserException(subject + " has the calendar '" + calendar + "', whose days are not those of years "
                + "of 365 or 366 days. Convert the data to the standard calendar.");
        }
        long base = base(subject, units, matcher, name);
        long[] seconds = new long[values.length];
        for (int i = 0; i < values.length; i++) {
            double offset = values[i] * SECONDS.get(unit);
            if (!(Math.abs(offset) < LARGEST)) {
                throw new UserException(subject + " holds " + values[i] + " at index " + i
                    + ", which is no time. Download or make the file again.");
            }
            long second = base + Math.round(offset);
            seconds[i] = noLeap ? fromNoLeap(second) : second;
        }
        return seconds;
    }

    private static String unit(String given) {
        String lower = given.toLowerCase(Locale.ROOT);
        String singular = lower.length() > 1 && lower.endsWith("s") ? lower.substring(0, lower.length() - 1) : lower;
        return SHORT.getOrDefault(singular, singular);
    }

    /** Seconds of the reference date since 1970; in a calendar without leap days, since year 0 of that calendar. */
    private static long base(String subject, String units, Matcher matcher, String calendar) {
        try {
            int year = Integer.parseInt(matcher.group(2));
            int month = Integer.parseInt(matcher.group(3));
            int day = Integer.parseInt(matcher.group(4));
            long time = number(matcher.group(5)) * 3600 + number(matcher.group(6)) * 60 + number(matcher.group(7));
            if (calendar.equals("noleap") || calendar.equals("365_day")) {
                return ((long) year * DAYS_OF_YEAR + DAYS_BEFORE[month - 1] + day - 1) * SECONDS_PER_DAY + time;
            }
            LocalDate date = LocalDate.of(Math.max(1, year), month, day);
            if (!calendar.startsWith("proleptic") && date.isBefore(GREGORIAN)) { // Julian before that date
                GregorianCalendar mixed = new GregorianCalendar(TimeZone.getTimeZone(ZoneOffset.UTC), Locale.ROOT);
                mixed.clear();
                mixed.set(date.getYear(), month - 1, day);
                return mixed.getTimeInMillis() / 1000 + time;
            }
            return date.toEpochDay() * SECONDS_PER_DAY + time;
        } catch (DateTimeException | ArrayIndexOutOfBoundsException noDate) {
            throw new UserException(subject + " has the units '" + units + "', whose date does not exist. Store times "
                + "since another one.", noDate);
        }
    }

    private static long number(String digits) {
        return digits == null ? 0 : Long.parseLong(digits);
    }

    private static long fromNoLeap(long seconds) {
        long days = Math.floorDiv(seconds, SECONDS_PER_DAY);
        int year = (int) Math.floorDiv(days, (long) DAYS_OF_YEAR);
        int day = (int) Math.floorMod(days, (long) DAYS_OF_YEAR);
        int month = 12;
        while (DAYS_BEFORE[month - 1] > day) {
            month--;
        }
        return LocalDate.of(year, month, day - DAYS_BEFORE[month - 1] + 1).toEpochDay() * SECONDS_PER_DAY
            + Math.floorMod(seconds, SECONDS_PER_DAY);
    }

    /** A time as text: {@code 2018-01-31 18:00:00}. */
    static String text(long seconds) {
        return TEXT.format(Instant.ofEpochSecond(seconds));
    }

    /** The year that a time lies in. */
    static int year(long seconds) {
        return Instant.ofEpochSecond(seconds).atOffset(ZoneOffset.UTC).getYear();
    }

    /** The beginning of a year, in seconds since 1970. */
    static long start(int year) {
        return LocalDate.of(year, 1, 1).toEpochDay() * SECONDS_PER_DAY;
    }
}
