package org.isobar.cli.options;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Expands {@code ~/} after the equals sign of an argument to the user's home directory, as in {@code --expdir=~/logs}
 * and {@code --set=expdir=~/logs}. A shell expands it only at the beginning of a word and in assignments.
 */
public final class TildeExpansion {
    private static final Pattern AFTER_EQUALS = Pattern.compile("((?:--)?(?:[\\w.-]+=)+)~(/.*)");

    private TildeExpansion() { }

    /** The arguments with all such paths expanded. */
    public static String[] apply(String[] arguments, String home) {
        String[] expanded = arguments.clone();
        for (int i = 0; i < expanded.length; i++) {
            Matcher option = AFTER_EQUALS.matcher(expanded[i]);
            if (option.matches()) {
                expanded[i] = option.group(1) + home + option.group(2);
            }
        }
        return expanded;
    }
}
