package org.isobar.data.convert;

import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Compares units as stores write them: {@code m s**-1}, {@code m s-1}, {@code m/s} and {@code m s^-1} are the same. */
final class CfUnit {
    private static final Pattern FACTOR = Pattern.compile("([A-Za-z%]+)([+-]?\\d+)?");
    private static final Map<String, String> SYNONYMS = Map.ofEntries(Map.entry("degk", "K"), Map.entry("kelvin", "K"),
        Map.entry("pascal", "Pa"), Map.entry("pascals", "Pa"), Map.entry("percent", "%"), Map.entry("metre", "m"),
        Map.entry("metres", "m"), Map.entry("meter", "m"), Map.entry("meters", "m"), Map.entry("second", "s"),
        Map.entry("seconds", "s"), Map.entry("joule", "J"), Map.entry("joules", "J"), Map.entry("millibars", "hPa"),
        Map.entry("millibar", "hPa"), Map.entry("mbar", "hPa"), Map.entry("mb", "hPa"),
        Map.entry("hectopascals", "hPa"));
    private static final Pattern FRACTION = Pattern.compile("\\(?0\\s*-\\s*1\\)?|1|~|dimensionless|fraction|");

    private CfUnit() { }

    /** Whether two texts are the same unit. */
    static boolean same(String one, String other) {
        return normal(one).equals(normal(other));
    }

    /** A product of powers in alphabetical order; the text itself if it cannot be read as one. */
    static String normal(String unit) {
        String text = unit.strip();
        if (FRACTION.matcher(text).matches()) {
            return "1";
        }
        SortedMap<String, Integer> powers = new TreeMap<>();
        int sign = 1;
        for (String part : text.replace("**", "").replace("^", "").replace("/", " / ").split("[\\s*.]+")) {
            if (part.equals("/")) {
                sign = -1;
                continue;
            }
            if (part.equals("1")) {
                continue;
            }
            Matcher factor = FACTOR.matcher(part);
            if (!factor.matches()) {
                return text;
            }
            String name = SYNONYMS.getOrDefault(factor.group(1).toLowerCase(Locale.ROOT), factor.group(1));
            int power = factor.group(2) == null ? 1 : Integer.parseInt(factor.group(2));
            powers.merge(name, sign * power, Integer::sum);
        }
        powers.values().removeIf(power -> power == 0);
        return powers.isEmpty() ? "1" : powers.toString();
    }
}
