package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Words that a shell reads back. */
class ShellWordsTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "--config=mp|--config=mp",
        "/a/b-c_1.yaml|/a/b-c_1.yaml",
        "img_size=[64, 128]|'img_size=[64, 128]'",
        "it's|'it'\\''s'",
        "$HOME|'$HOME'",
        "a=~/b|'a=~/b'",
        "a*b|'a*b'",
        "\"\"|''"})
    void wordsWithSpecialCharactersAreQuoted(String word, String quoted) {
        assertEquals("sbatch " + quoted, ShellWords.join(List.of("sbatch", word)));
    }
}
