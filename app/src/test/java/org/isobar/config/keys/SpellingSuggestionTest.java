package org.isobar.config.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.junit.jupiter.api.Test;

/** Suggestions for misspelt words. */
class SpellingSuggestionTest {
    private static final List<String> KNOWN = List.of("--num_iters", "--num_data_workers", "--noddp", "train");

    @Test
    void findsWhatWasMeant() {
        assertEquals(" Did you mean '--num_iters'?", SpellingSuggestion.hint("--num_iter", KNOWN));
        assertEquals(" Did you mean '--num_data_workers'?", SpellingSuggestion.hint("--Num-Data-Workers", KNOWN));
        assertEquals(" Did you mean 'train'?", SpellingSuggestion.hint("trian", KNOWN));
    }

    @Test
    void isSilentWhereNothingIsNear() {
        assertEquals("", SpellingSuggestion.hint("--something_else", KNOWN));
        assertEquals("", SpellingSuggestion.hint("train", List.of()));
    }
}
