package org.isobar.os;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Commands to copy into a POSIX shell. */
public final class ShellWords {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_@%+=:,./-]+");

    private ShellWords() { }

    /** The command that a shell splits into these words: those with other characters than file names are quoted. */
    public static String join(List<String> words) {
        return words.stream().map(ShellWords::quoted).collect(Collectors.joining(" "));
    }

    private static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
