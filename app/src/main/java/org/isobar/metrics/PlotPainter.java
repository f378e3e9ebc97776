package org.isobar.metrics;

import java.util.List;
import java.util.Locale;

/** Draws the parts of a figure of fields: fields, axes, colour bars and text. */
final class PlotPainter {
    static final int BLACK = 0x000000;
    static final int GAP = 8;
    static final int TICK = 5;
    static final int BAR_HEIGHT = 14;
    static final int SMALL = 2;

    private final Raster picture;
    private final PixelFont font = new PixelFont();

    /**
     * A rectangle in pixels.
     *
     * @param left   first column
     * @param top    first row
     * @param across number of columns
     * @param down   number of rows
     */
    record Box(int left, int top, int across, int down) {
        int middle() {
            return left + across / 2;
        }

        int bottom() {
            return top + down;
        }
    }

    /**
     * A mark at an axis.
     *
     * @param at    pixels from the beginning of the axis
     * @param label its text
     */
    record Tick(int at, String label) { }

    /**
     * The colours of values: linear from {@code min} to {@code max}, and those of the ends outside. If both are equal,
     * every value has the first colour.
     */
    record Scale(ColorMap colors, double min, double max) {
        int color(double value) {
            return colors.color(max > min ? (value - min) / (max - min) : 0);
        }
    }

    PlotPainter(Raster picture) {
        this.picture = picture;
    }

    /** Draws a field over the whole of a box, with a frame around it. Values that are not finite stay white. */
    void field(PlotField field, Scale scale, Box box) {
        for (int y = 0; y < box.down; y++) {
            if (y > 0 && field.isOneRow((y - 1.0) / box.down, (y + 1.0) / box.down)) {
                picture.repeat(box.left, box.top + y, box.across);
            } else {
                row(field, scale, box, y);
            }
        }
        picture.frame(box.left, box.top, box.across, box.down, BLACK);
    }

    private void row(PlotField field, Scale scale, Box box, int y) {
        for (int x = 0; x < box.across; x++) {
            double mean = field.mean((double) x / box.across, (x + 1.0) / box.across, (double) y / box.down,
                (y + 1.0) / box.down);
            if (Double.isFinite(mean)) {
                picture.set(box.left + x, box.top + y, scale.color(mean));
            }
        }
    }

    /** Draws marks and labels below a box. */
    void ticksBelow(List<Tick> ticks, Box box) {
        for (Tick tick : ticks) {
            int x = box.left + tick.at;
            picture.fill(x, box.bottom(), 1, TICK, BLACK);
            centered(tick.label, x, box.bottom() + TICK + GAP, SMALL);
        }
    }

    /** Draws marks and labels left of a box. */
    void ticksLeft(List<Tick> ticks, Box box) {
        for (Tick tick : ticks) {
            int y = box.top + tick.at;
            picture.fill(box.left - TICK, y, TICK, 1, BLACK);
            font.draw(picture, tick.label, box.left - TICK - GAP - font.width(tick.label, SMALL),
                y - SMALL * PixelFont.ASCENT / 2, SMALL, BLACK);
        }
    }

    /** Draws a colour bar in a box, and below it the ends of its scale. */
    void bar(Scale scale, Box box) {
        for (int x = 0; x < box.across; x++) {
            picture.fill(box.left + x, box.top, 1, box.down, scale.colors.color((x + 0.5) / box.across));
        }
        picture.frame(box.left, box.top, box.across, box.down, BLACK);
        int below = box.bottom() + GAP;
        String high = number(scale.max);
        font.draw(picture, number(scale.min), box.left, below, SMALL, BLACK);
        font.draw(picture, high, box.left + box.across - font.width(high, SMALL), below, SMALL, BLACK);
    }

    /** Draws a text around a column; {@code top} is the upper edge of its capitals. */
    void centered(String text, int middle, int top, int scale) {
        font.draw(picture, text, middle - font.width(text, scale) / 2, top, scale, BLACK);
    }

    /** A number with two decimals, or with an exponent if it is very small or large. */
    static String number(double x) {
        double size = Math.abs(x);
        String format = size != 0 && (size < 0.01 || size >= 1e5) ? "%.2e" : "%.2f";
        return String.format(Locale.ROOT, format, x);
    }
}
