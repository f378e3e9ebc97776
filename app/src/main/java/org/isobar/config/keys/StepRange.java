package org.isobar.config.keys;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Consecutive training steps of a run.
 *
 * @param first the first, from 1
 * @param last  the last
 */
public record StepRange(long first, long last) {
    /** Most steps of a range. */
    static final int MOST = 100;
    private static final Pattern TEXT = Pattern.compile("([1-9]\\d{0,14})(?:-([1-9]\\d{0,14}))?");

    /** Reads {@code 10-12} or {@code 10}; empty if it is neither, or of more than {@link #MOST} steps. */
    static Optional<StepRange> of(String text) {
        Matcher numbers = TEXT.matcher(text.strip());
        if (!numbers.matches()) {
            return Optional.empty();
        }
        long first = Long.parseLong(numbers.group(1));
        long last = numbers.group(2) == null ? first : Long.parseLong(numbers.group(2));
        return Optional.of(new StepRange(first, last)).filter(range -> first <= last && last - first < MOST);
    }

    /** Whether a step is one of these. */
    public boolean contains(long step) {
        return step >= first && step <= last;
    }

    @Override
    public String toString() {
        return first == last ? String.valueOf(first) : first + "-" + last;
    }
}
