package org.isobar.exercise;

import java.util.Locale;

/** Numbers in the messages of checks. */
final class Digits {
    private Digits() { }

    /** Four significant digits. */
    static String number(double value) {
        return String.format(Locale.ROOT, "%.4g", value);
    }
}
