package org.isobar.data.convert;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;

/**
 * What missing values are replaced with.
 *
 * @param byName  text of {@code --fill_nan} for each channel that is named, "" for all others: a number, or
 *                {@code mean} for the mean of the field's other values
 */
record NanFill(Map<String, String> byName) {
    private static final String MEAN = "mean";

    /**
     * Parses the value of {@code --fill_nan}: {@code [NAME:]VALUE,...}.
     *
     * @param channels the channels that can be named
     * @throws UserException if it is something else, or names a channel twice or one that is not converted
     */
    static NanFill of(String text, List<String> channels) {
        Map<String, String> byName = new HashMap<>();
        for (String part : text.isEmpty() ? new String[0] : text.split(",", -1)) {
            String name = part.contains(":") ? part.substring(0, part.indexOf(':')).strip() : "";
            String value = part.substring(part.indexOf(':') + 1).strip();
            if (!value.equals(MEAN) && !isNumber(value) || part.contains(":") && !channels.contains(name)
                || byName.put(name, value) != null) {
                throw new UserException("--fill_nan has '" + part + "', expected a number or mean, or such after the "
                    + "name of one of --variables, each once: sst:271.35");
            }
        }
        return new NanFill(byName);
    }

    private static boolean isNumber(String text) {
        try {
            return Float.isFinite(Float.parseFloat(text)) && text.matches("[-+.\\deE]+");
        } catch (NumberFormatException noNumber) {
            return false;
        }
    }

    /** Whether missing values of a channel are replaced. */
    boolean fills(String channel) {
        return byName.containsKey(channel) || byName.containsKey("");
    }

    /** Whether they are replaced with the mean of the field. */
    boolean fillsMean(String channel) {
        return fills(channel) && value(channel).equals(MEAN);
    }

    /** What they are replaced with, if it is not the mean. */
    float number(String channel) {
        return Float.parseFloat(value(channel));
    }

    private String value(String channel) {
        return byName.getOrDefault(channel, byName.get(""));
    }
}
