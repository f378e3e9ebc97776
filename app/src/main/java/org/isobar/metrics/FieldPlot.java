package org.isobar.metrics;

import java.util.List;
import java.util.stream.IntStream;

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

    private static final int LEFT_MARGIN = 62;
    private static final int RIGHT_MARGIN = 24;
    private static final int MAX_FIELD_HEIGHT = 400;
    private static final int MAX_TICKS = 8;
    private static final int LARGE = 3;

    private final Raster picture = new Raster(WIDTH, HEIGHT);
    private final PlotPainter painter = new PlotPainter(picture);
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
        PlotPainter.Scale scale = new PlotPainter.Scale(colors, truth.min(), truth.max());
        int top = panel("target", truth, scale, 0);
        panel("prediction (" + PlotPainter.number(forecast.min()) + " to " + PlotPainter.number(forecast.max()) + ")",
            forecast, scale, WIDTH / 2);
        painter.centered(title, WIDTH / 2, top - LARGE * PixelFont.ASCENT - 2 * PlotPainter.GAP, LARGE);
        return PngEncoder.encode(picture);
    }

    /** Draws one field in one half of the figure; returns the top of its title. */
    private int panel(String title, PlotField field, PlotPainter.Scale colorScale, int panelLeft) {
        int available = WIDTH / 2 - LEFT_MARGIN - RIGHT_MARGIN;
        double scale = Math.min((double) available / field.width(), (double) MAX_FIELD_HEIGHT / field.height());
        int across = Math.max(1, (int) Math.round(scale * field.width()));
        int down = Math.max(1, (int) Math.round(scale * field.height()));
        PlotPainter.Box box = new PlotPainter.Box(panelLeft + LEFT_MARGIN + (available - across) / 2,
            (HEIGHT - down) / 2, across, down);
        int titleTop = box.top() - PlotPainter.SMALL * PixelFont.ASCENT - 2 * PlotPainter.GAP;
        painter.centered(title, box.middle(), titleTop, PlotPainter.SMALL);
        painter.field(field, colorScale, box);
        painter.ticksBelow(ticks(field.width(), across), box);
        painter.ticksLeft(ticks(field.height(), down), box);
        painter.bar(colorScale, new PlotPainter.Box(box.left(), box.bottom()
            + PlotPainter.SMALL * PixelFont.ASCENT + PlotPainter.TICK + 3 * PlotPainter.GAP, across,
            PlotPainter.BAR_HEIGHT));
        return titleTop;
    }

    /** Indices of grid points at the middle of their cells. */
    private static List<PlotPainter.Tick> ticks(int count, int pixels) {
        int step = tickStep(count);
        return IntStream.iterate(0, index -> index < count, index -> index + step)
            .mapToObj(index -> new PlotPainter.Tick((int) ((index + 0.5) * pixels / count), Integer.toString(index)))
            .toList();
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
}
