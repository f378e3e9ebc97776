package org.isobar.metrics;

/** Maps numbers from 0 to 1 to colours in 256 equal steps, as matplotlib does. */
final class ColorMap {
    private static final int HEXADECIMAL = 16;

    private final int[] colors;

    private ColorMap(int[] colors) {
        this.colors = colors;
    }

    /**
     * The tutorial's colour map "turbo" (A. Mikhailov, 2019). {@code tools/reference/turbo_table.py} makes its table.
     */
    static ColorMap turbo() {
        return new ColorMap(MetricsResources.lines("turbo.txt").stream()
            .mapToInt(line -> Integer.parseInt(line, HEXADECIMAL)).toArray());
    }

    /** The colour of {@code x}, which is clamped to the range from 0 to 1. */
    int color(double x) {
        return colors[Math.clamp((int) (x * colors.length), 0, colors.length - 1)];
    }
}
