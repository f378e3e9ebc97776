package org.isobar.metrics;

import java.util.Locale;

/**
 * Draws the tutorial's figure: target and prediction side by side in the colour map "turbo". Both have one colour
 * scale, from the lowest to the highest value of the target; a prediction outside this range has the colour of the
 * nearer end, and its own range is in its title. Row 0, the north, is at the top. The axes count grid points; a colour
 * bar is below each field. A plot reuses its memory for each figure. Not thread-safe.
 */
public final class FieldPlot {
    /** Width of the figure in pixels. */
    public static final int WIDTH = 1200;
    /** Height of the figure in pixels. */
    public static final int HEIGHT = 600;

    private static final int BLACK = 0x000000;
    private static final int LEFT_MARGIN = 62;
    private static final int RIGHT_MARGIN = 24;
    private static final int MAX_FIELD_HEIGHT = 400;
    private static final int GAP = 8;
    private static final int TICK = 5;
    private static final int MAX_TICKS = 8;
    private static final int BAR_HEIGHT = 14;
    private static final int LARGE = 3;
    private static final int SMALL = 2;

    private final Raster picture = new Raster(WIDTH, HEIGHT);
    private final PixelFont font = new PixelFont();
    private final ColorMap colors = ColorMap.turbo();

    /** Allocates the memory of a figure. */
    public FieldPlot() { }

    /**
     * The figure as a PNG file of {@link #WIDTH} x {@link #HEIGHT} pixels. Values that are not finite stay white.
     *
     * @param title      title of the figure, for example the name of a variable
     * @param target     (H, W)
     * @param prediction (H, W)
     */
    public byte[] png(String title, float[] target, float[] prediction, int height, int width) {
        picture.clear();
        PlotField truth = new PlotField(target, height, width);
        PlotField forecast = new PlotField(prediction, height, width);
        int top = panel("target", truth, truth, 0);
        panel("prediction (" + number(forecast.min()) + " to " + number(forecast.max()) + ")", forecast, truth,
            WIDTH / 2);
        centered(title, WIDTH / 2, top - LARGE * PixelFont.ASCENT - 2 * GAP, LARGE);
        return PngEncoder.encode(picture);
    }

    /** Draws one field in one half of the figure, with the colour scale of another; returns the top of its title. */
    private int panel(String title, PlotField field, PlotField scaled, int panelLeft) {
        int available = WIDTH / 2 - LEFT_MARGIN - RIGHT_MARGIN;
        double scale = Math.min((double) available / field.width(), (double) MAX_FIELD_HEIGHT / field.height());
        int across = Math.max(1, (int) Math.round(scale * field.width()));
        int down = Math.max(1, (int) Math.round(scale * field.height()));
        int left = panelLeft + LEFT_MARGIN + (available - across) / 2;
        int top = (HEIGHT - down) / 2;
        int titleTop = top - SMALL * PixelFont.ASCENT - 2 * GAP;
        centered(title, left + across / 2, titleTop, SMALL);
        drawField(field, scaled, left, top, across, down);
        xTicks(field.width(), left, top + down, across);
        yTicks(field.height(), left, top, down);
        bar(scaled, left, top + down + SMALL * PixelFont.ASCENT + TICK + 3 * GAP, across);
        return titleTop;
    }

    private void drawField(PlotField field, PlotField scaled, int left, int top, int across, int down) {
        for (int y = 0; y < down; y++) {
            for (int x = 0; x < across; x++) {
                double mean = field.mean((double) x / across, (x + 1.0) / across, (double) y / down, (y + 1.0) / down);
                if (Double.isFinite(mean)) {
                    picture.blend(left + x, top + y, colors.color(scaled.unit(mean)), 1);
                }
            }
        }
        picture.frame(left, top, across, down, BLACK);
    }

    private void xTicks(int count, int left, int bottom, int across) {
        for (int index = 0; index < count; index += tickStep(count)) {
            int x = left + (int) ((index + 0.5) * across / count);
            picture.fill(x, bottom, 1, TICK, BLACK);
            centered(Integer.toString(index), x, bottom + TICK + GAP, SMALL);
        }
    }

    private void yTicks(int count, int left, int top, int down) {
        for (int index = 0; index < count; index += tickStep(count)) {
            int y = top + (int) ((index + 0.5) * down / count);
            picture.fill(left - TICK, y, TICK, 1, BLACK);
            String label = Integer.toString(index);
            font.draw(picture, label, left - TICK - GAP - font.width(label, SMALL), y - SMALL * PixelFont.ASCENT / 2,
                SMALL, BLACK);
        }
    }

    private void bar(PlotField scaled, int left, int top, int across) {
        for (int x = 0; x < across; x++) {
            picture.fill(left + x, top, 1, BAR_HEIGHT, colors.color((x + 0.5) / across));
        }
        picture.frame(left, top, across, BAR_HEIGHT, BLACK);
        int below = top + BAR_HEIGHT + GAP;
        String high = number(scaled.max());
        font.draw(picture, number(scaled.min()), left, below, SMALL, BLACK);
        font.draw(picture, high, left + across - font.width(high, SMALL), below, SMALL, BLACK);
    }

    private void centered(String text, int middle, int top, int scale) {
        font.draw(picture, text, middle - font.width(text, scale) / 2, top, scale, BLACK);
    }

    /** The smallest of 1, 2, 5, 10, 20... that gives at most {@link #MAX_TICKS} ticks. */
    static int tickStep(int count) {
        for (int power = 1; ; power *= 10) {
            for (int step : new int[] {power, 2 * power, 5 * power}) {
                if ((count + step - 1) / step <= MAX_TICKS) {
                    return step;
                }
            }
        }
    }

    private static String number(double x) {
        double size = Math.abs(x);
        String format = size != 0 && (size < 0.01 || size >= 1e5) ? "%.2e" : "%.2f";
        return String.format(Locale.ROOT, format, x);
    }
}
