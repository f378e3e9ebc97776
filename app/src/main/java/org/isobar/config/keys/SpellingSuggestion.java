package org.isobar.config.keys;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Suggests the known word that is most similar to a misspelt one. */
public final class SpellingSuggestion {
    private SpellingSuggestion() { }

    /** {@code " Did you mean 'x'?"} with the most similar of the {@code known} words; empty if none is similar. */
    public static String hint(String word, Collection<String> known) {
        return of(word, known).map(near -> " Did you mean '" + near + "'?").orElse("");
    }

    /** The most similar of the {@code known} words, if at most about a third of the letters differ. */
    static Optional<String> of(String word, Collection<String> known) {
        String wanted = fold(word);
        int most = Math.max(1, (wanted.length() + 1) / 3);
        return known.stream()
            .filter(candidate -> Math.abs(candidate.length() - word.length()) <= most)
            .min(Comparator.comparingInt(candidate -> distance(wanted, fold(candidate))))
            .filter(best -> distance(wanted, fold(best)) <= most);
    }

    private static String fold(String word) {
        return word.toLowerCase(Locale.ROOT).replace('-', '_');
    }

    /** Levenshtein distance: the fewest insertions, deletions and substitutions that turn {@code a} into {@code b}. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substitution = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substitution, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
