package org.isobar.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Draws maps of a forecast: target, forecast and their difference, side by side. Target and forecast have one colour
 * scale, from the lowest to the highest value of both; the difference has a scale that is symmetric about zero. North
 * is at the top, and the axes are in degrees. A map reuses its memory for each figure. Not thread-safe.
 */
public final class ForecastMap {
    private static final int WIDTH = 1960;
    private static final int HEIGHT = 520;
    private static final int PANELS = 3;
    private static final int LEFT_MARGIN = 70;
    private static final int RIGHT_MARGIN = 20;
    private static final int TOP = 96;
    private static final int MAX_FIELD_HEIGHT = 310;
    private static final int LARGE = 3;
    private static final int MAX_TICKS = 7;
    private static final int[] TICK_STEPS = {1, 2, 5, 10, 15, 30, 60}; // degrees
    private static final double CIRCLE = 360;

    private final Raster picture = new Raster(WIDTH, HEIGHT);
    private final PlotPainter painter = new PlotPainter(picture);
    private final double[] latitudes;
    private final double[] longitudes;
    private final boolean flipped;

    /**
     * Maps of fields on a grid.
     *
     * @param latitudes  of the H rows in degrees, which all rise or all fall
     * @param longitudes of the W columns in degrees, which rise
     */
    public ForecastMap(double[] latitudes, double[] longitudes) {
        this.longitudes = longitudes.clone();
        flipped = latitudes.length > 1 && latitudes[0] < latitudes[1];
        this.latitudes = latitudes.clone();
        for (int row = 0; flipped && row < latitudes.length; row++) {
            this.latitudes[row] = latitudes[latitudes.length - 1 - row];
        }
    }

    /**
     * The figure as a PNG file. Values that are not finite stay white.
     *
     * @param title    title of the figure, for example variable and time
     * @param unit     of the fields; may be empty
     * @param forecast (H, W)
     * @param target   (H, W); if it is empty, the forecast is shown alone
     */
    public byte[] png(String title, String unit, float[] forecast, Optional<float[]> target) {
        picture.clear();
        painter.centered(title, WIDTH / 2, PlotPainter.GAP * 2, LARGE);
        PlotField made = field(forecast);
        if (target.isEmpty()) {
            panel("forecast (there are no data of this time)", made, scale(made, made), unit, 1);
        } else {
            PlotField truth = field(target.get());
            PlotPainter.Scale scale = scale(truth, made);
            panel("target", truth, scale, unit, 0);
            panel("forecast", made, scale, unit, 1);
            PlotField difference = field(difference(forecast, target.get()));
            double size = Math.max(Math.abs(difference.min()), Math.abs(difference.max()));
            panel("forecast - target", difference, new PlotPainter.Scale(ColorMap.diverging(), -size, size), unit, 2);
        }
        return PngEncoder.encode(picture);
    }

    private static PlotPainter.Scale scale(PlotField one, PlotField other) {
        return new PlotPainter.Scale(ColorMap.turbo(), Math.min(one.min(), other.min()),
            Math.max(one.max(), other.max()));
    }

    private static float[] difference(float[] forecast, float[] target) {
        float[] difference = new float[forecast.length];
        for (int i = 0; i < difference.length; i++) {
            difference[i] = forecast[i] - target[i];
        }
        return difference;
    }

    private PlotField field(float[] values) {
        int width = longitudes.length;
        float[] rows = values.clone();
        for (int row = 0; flipped && row < latitudes.length; row++) {
            System.arraycopy(values, (latitudes.length - 1 - row) * width, rows, row * width, width);
        }
        return new PlotField(rows, latitudes.length, width);
    }

    private void panel(String title, PlotField field, PlotPainter.Scale scale, String unit, int place) {
        int available = WIDTH / PANELS - LEFT_MARGIN - RIGHT_MARGIN;
        double enlarged =
            Math.min((double) available / field.width(), (double) MAX_FIELD_HEIGHT / field.height());
        int across = Math.max(1, (int) Math.round(enlarged * field.width()));
        int down = Math.max(1, (int) Math.round(enlarged * field.height()));
        PlotPainter.Box box = new PlotPainter.Box(place * WIDTH / PANELS + LEFT_MARGIN + (available - across) / 2,
            TOP, across, down);
        painter.centered(title, box.middle(), TOP - PlotPainter.SMALL * PixelFont.ASCENT - PlotPainter.GAP * 2,
            PlotPainter.SMALL);
        painter.field(field, scale, box);
        painter.ticksBelow(ticks(longitudes, across, 'E', 'W'), box);
        painter.ticksLeft(ticks(latitudes, down, 'N', 'S'), box);
        PlotPainter.Box bar = new PlotPainter.Box(box.left(), box.bottom() + PlotPainter.TICK
            + PlotPainter.SMALL * PixelFont.ASCENT + PlotPainter.GAP * 3, across, PlotPainter.BAR_HEIGHT);
        painter.bar(scale, bar);
        painter.centered(unit, bar.middle(), bar.bottom() + PlotPainter.GAP, PlotPainter.SMALL);
    }

    /** Marks at round coordinates, each at its place between the middles of its neighbouring cells. */
    static List<PlotPainter.Tick> ticks(double[] coordinates, int pixels, char positive, char negative) {
        double low = Math.min(coordinates[0], coordinates[coordinates.length - 1]);
        double high = Math.max(coordinates[0], coordinates[coordinates.length - 1]);
        int step = 0;
        while (step < TICK_STEPS.length - 1 && (high - low) / TICK_STEPS[step] >= MAX_TICKS) {
            step++;
        }
        List<PlotPainter.Tick> ticks = new ArrayList<>();
        double first = Math.ceil(low / TICK_STEPS[step]) * TICK_STEPS[step];
        for (double degrees = first; degrees <= high; degrees += TICK_STEPS[step]) {
            double cell = cell(coordinates, degrees);
            ticks.add(new PlotPainter.Tick((int) ((cell + 0.5) * pixels / coordinates.length),
                label((int) degrees, positive, negative)));
        }
        return ticks;
    }

    /** The index of a coordinate, between those of its neighbours. */
    private static double cell(double[] coordinates, double degrees) {
        for (int i = 1; i < coordinates.length; i++) {
            double share = (degrees - coordinates[i - 1]) / (coordinates[i] - coordinates[i - 1]);
            if (share >= 0 && share <= 1) {
                return i - 1 + share;
            }
        }
        return 0;
    }

    private static String label(int degrees, char positive, char negative) {
        int size = degrees > CIRCLE / 2 ? degrees - (int) CIRCLE : degrees;
        boolean plain = size == 0 || Math.abs(size) == CIRCLE / 2;
        return Math.abs(size) + (plain ? "" : String.valueOf(size > 0 ? positive : negative));
    }
}
