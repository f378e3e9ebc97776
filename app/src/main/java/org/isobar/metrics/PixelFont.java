package org.isobar.metrics;

import java.util.List;

/**
 * Draws text into a picture with a bitmap font of the printable ASCII characters, five pixels wide and nine high (two
 * of them below the base line), which is defined in {@code font.txt}. Spacing is proportional; edges of enlarged
 * characters are smoothed.
 */
final class PixelFont {
    private static final int FIRST = ' ';
    private static final int LAST = '~';
    private static final int WIDTH = 5;
    private static final int HEIGHT = 9;
    private static final int GLYPHS_PER_BLOCK = 16;
    private static final int BLANK_WIDTH = 3;
    private static final double EDGE = 0.4;

    private final List<String> lines = MetricsResources.lines("font.txt");

    /** Height of capitals above the base line at scale 1, in pixels. */
    static final int ASCENT = 7;

    /** Width of a text in pixels. */
    int width(String text, int scale) {
        int width = -1; // no gap after the last character
        for (int i = 0; i < text.length(); i++) {
            char c = printable(text.charAt(i));
            width += inkEnd(c) - inkBegin(c) + 1;
        }
        return Math.max(0, width) * scale;
    }

    /** Draws a text whose capitals have their upper left corner at (left, top), clipped to the picture. */
    void draw(Raster picture, String text, int left, int top, int scale, int color) {
        int x = left;
        for (int i = 0; i < text.length(); i++) {
            char c = printable(text.charAt(i));
            glyph(picture, c, x - inkBegin(c) * scale, top, scale, color);
            x += (inkEnd(c) - inkBegin(c) + 1) * scale;
        }
    }

    private void glyph(Raster picture, char c, int left, int top, int scale, int color) {
        int margin = scale / 2;
        for (int y = -margin; y < HEIGHT * scale + margin; y++) {
            for (int x = -margin; x < WIDTH * scale + margin; x++) {
                double opacity = coverage(c, x, y, scale);
                boolean inside = left + x >= 0 && left + x < picture.width()
                    && top + y >= 0 && top + y < picture.height();
                if (opacity > 0 && inside) {
                    picture.blend(left + x, top + y, color, opacity);
                }
            }
        }
    }

    /** Opacity of an enlarged pixel: the glyph is interpolated linearly and thresholded with a soft edge. */
    private double coverage(char c, int x, int y, int scale) {
        double u = (x + 0.5) / scale - 0.5;
        double v = (y + 0.5) / scale - 0.5;
        int column = (int) Math.floor(u);
        int row = (int) Math.floor(v);
        double right = u - column;
        double below = v - row;
        double ink = (1 - below) * ((1 - right) * ink(c, column, row) + right * ink(c, column + 1, row))
            + below * ((1 - right) * ink(c, column, row + 1) + right * ink(c, column + 1, row + 1));
        return Math.clamp((ink - EDGE) * scale + 0.5, 0.0, 1.0);
    }

    private int ink(char c, int column, int row) {
        if (column < 0 || column >= WIDTH || row < 0 || row >= HEIGHT) {
            return 0;
        }
        int index = c - FIRST;
        int line = index / GLYPHS_PER_BLOCK * (HEIGHT + 1) + row;
        return lines.get(line).charAt(index % GLYPHS_PER_BLOCK * (WIDTH + 1) + column) == '#' ? 1 : 0;
    }

    private int inkBegin(char c) {
        int column = 0;
        while (c != ' ' && isBlank(c, column)) {
            column++;
        }
        return column;
    }

    private int inkEnd(char c) {
        if (c == ' ') {
            return BLANK_WIDTH;
        }
        int column = WIDTH;
        while (isBlank(c, column - 1)) {
            column--;
        }
        return column;
    }

    private boolean isBlank(char c, int column) {
        for (int row = 0; row < HEIGHT; row++) {
            if (ink(c, column, row) != 0) {
                return false;
            }
        }
        return true;
    }

    private static char printable(char c) {
        return c >= FIRST && c <= LAST ? c : '?';
    }
}
