package org.isobar.metrics;

/** Colours for numbers from 0 to 1, as matplotlib picks them: 256 equal steps. */
final class ColorMap {
    private static final int HEXADECIMAL = 16;

    private final int[] colors;

    private ColorMap(int[] colors) {
        this.colors = colors;
    }

    /** "Turbo", the tutorial's choice (A. Mikhailov, 2019); {@code tools/reference/turbo_table.py} makes its table. */
    static ColorMap turbo() {
        return new ColorMap(MetricsResources.lines("turbo.txt").stream()
            .mapToInt(line -> Integer.parseInt(line, HEXADECIMAL)).toArray());
    }

    /** The colour of {@code x}; beyond 0 and 1, that of the nearer end. */
    int color(double x) {
        return colors[Math.clamp((int) (x * colors.length), 0, colors.length - 1)];
    }
}
