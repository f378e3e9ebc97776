package org.isobar.data.convert;

import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.UserException;

/** Parses years: {@code 1979-2015,2018}. */
public final class YearSet {
    private static final Pattern PART = Pattern.compile("(\\d{4})(?:-(\\d{4}))?");

    private YearSet() { }

    /**
     * The years of a text; none if it is empty.
     *
     * @param option the option it is the value of, for messages
     * @throws UserException if it is no list of years and ranges of years
     */
    public static SortedSet<Integer> of(String option, String text) {
        SortedSet<Integer> years = new TreeSet<>();
        for (String part : text.isEmpty() ? new String[0] : text.split(",", -1)) {
            Matcher matcher = PART.matcher(part.strip());
            int first = matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
            int last = !matcher.matches() || matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
            if (!matcher.matches() || last < first) {
                throw new UserException(option + " has '" + part + "', expected years as 1979-2015,2018");
            }
            for (int year = first; year <= last; year++) {
                years.add(year);
            }
        }
        return years;
    }
}
