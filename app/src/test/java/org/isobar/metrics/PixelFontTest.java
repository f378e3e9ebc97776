package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

import org.junit.jupiter.api.Test;

/** Checks glyphs, widths and clipping. */
class PixelFontTest {
    private final PixelFont font = new PixelFont();

    private byte[] drawn(String text, int left, int top, int scale) {
        Raster picture = new Raster(40, 30);
        font.draw(picture, text, left, top, scale, 0);
        return picture.bytes();
    }

    @Test
    void printableCharactersDiffer() {
        Set<String> looks = new HashSet<>();
        for (char c = ' '; c <= '~'; c++) {
            assertTrue(looks.add(Arrays.toString(drawn(String.valueOf(c), 2, 2, 2))), "twice: " + c);
        }
    }

    @Test
    void otherCharactersAreQuestionMarks() {
        assertArrayEquals(drawn("?", 2, 2, 2), drawn("é", 2, 2, 2));
    }

    @Test
    void widthExcludesBlankColumns() {
        assertEquals(5, font.width("H", 1));
        assertEquals(2 * (5 + 1 + 1), font.width("H!", 2));
        assertEquals(0, font.width("", 3));
        assertEquals(5 + 1 + 3 + 1 + 5, font.width("H H", 1));
    }

    @Test
    void textIsClippedToThePicture() {
        byte[] white = new Raster(40, 30).bytes();
        assertArrayEquals(white, drawn("far away", 400, 300, 3));
        assertTrue(!Arrays.equals(white, drawn("long text", 30, 20, 3)));
        assertTrue(!Arrays.equals(white, drawn("W", -3, -3, 3)));
    }
}
