package org.isobar.metrics;

/** Maps numbers from 0 to 1 to colours in equal steps, as matplotlib does. */
final class ColorMap {
    private static final int HEXADECIMAL = 16;
    private static final int BYTE_MASK = 0xFF;
    private static final int DIVERGING_COLORS = 255; // odd, so that one is white
    private static final int[] DIVERGING = {0x0A2F6B, 0x4B95CB, 0xFFFFFF, 0xE8563F, 0x6B0A14};

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

    /** From blue over white, in the middle, to red: for differences. */
    static ColorMap diverging() {
        int[] colors = new int[DIVERGING_COLORS];
        for (int i = 0; i < colors.length; i++) {
            double place = (i + 0.5) / colors.length * (DIVERGING.length - 1);
            int from = (int) place;
            for (int shift = 0; shift < Integer.SIZE - Byte.SIZE; shift += Byte.SIZE) {
                int low = DIVERGING[from] >> shift & BYTE_MASK;
                int high = DIVERGING[from + 1] >> shift & BYTE_MASK;
                colors[i] |= (int) Math.round(low + (place - from) * (high - low)) << shift;
            }
        }
        return new ColorMap(colors);
    }

    /** The colour of {@code x}, which is clamped to the range from 0 to 1. */
    int color(double x) {
        return colors[Math.clamp((int) (x * colors.length), 0, colors.length - 1)];
    }
}
