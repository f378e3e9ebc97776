package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import javax.imageio.ImageIO;

import org.junit.jupiter.api.Test;

/**
 * Checks pixels of the decoded figure. Fields of 2 x 4 points fill boxes of 514 x 257 pixels, whose upper left corners
 * are (62, 171) and (662, 171).
 */
class FieldPlotTest {
    private static final int CELL = 128;
    private static final int TOP = 171;
    private static final int TARGET = 62;
    private static final int PREDICTION = 662;
    private static final int WHITE = 0xFFFFFF;
    private static final int LOWEST = 0x30123B;
    private static final int HIGHEST = 0x7A0402;

    private static BufferedImage plot(float[] target, float[] prediction, int height, int width) throws IOException {
        byte[] png = new FieldPlot().png("t2m", target, prediction, height, width);
        return ImageIO.read(new ByteArrayInputStream(png));
    }

    private static int color(BufferedImage picture, int left, int row, int column) {
        return picture.getRGB(left + column * CELL + CELL / 2, TOP + row * CELL + CELL / 2) & WHITE;
    }

    @Test
    void colorsMatchMatplotlib() {
        ColorMap turbo = ColorMap.turbo();
        assertEquals(LOWEST, turbo.color(0));
        assertEquals(LOWEST, turbo.color(-1));
        assertEquals(0xA4FC3B, turbo.color(0.5));
        assertEquals(HIGHEST, turbo.color(1));
        assertEquals(HIGHEST, turbo.color(2));
    }

    @Test
    void bothFieldsHaveTheRangeOfTheTargetAndNorthIsAtTheTop() throws IOException {
        float[] target = {0, 1, 2, 3, 4, 5, 6, 7};
        float[] prediction = {7, 700, 5, 4, 3, 2, -100, 0};
        BufferedImage picture = plot(target, prediction, 2, 4);
        assertEquals(FieldPlot.WIDTH, picture.getWidth());
        assertEquals(FieldPlot.HEIGHT, picture.getHeight());
        ColorMap turbo = ColorMap.turbo();
        for (int row = 0; row < 2; row++) {
            for (int column = 0; column < 4; column++) {
                int element = 4 * row + column;
                assertEquals(turbo.color(target[element] / 7.0), color(picture, TARGET, row, column));
                assertEquals(turbo.color(prediction[element] / 7.0), color(picture, PREDICTION, row, column));
            }
        }
        assertEquals(LOWEST, color(picture, TARGET, 0, 0));
        assertEquals(HIGHEST, color(picture, TARGET, 1, 3));
        assertEquals(HIGHEST, color(picture, PREDICTION, 0, 1));
        assertEquals(LOWEST, color(picture, PREDICTION, 1, 2));
        int bars = TOP + 2 * CELL + 20;
        assertArrayEquals(picture.getRGB(TARGET, bars, 514, 100, null, 0, 514),
            picture.getRGB(PREDICTION, bars, 514, 100, null, 0, 514), "bars and their labels");
    }

    @Test
    void nonFiniteValuesStayWhite() throws IOException {
        float[] target = {Float.NaN, 1, 2, Float.POSITIVE_INFINITY, 4, 5, 6, 7};
        float[] nothing = new float[8];
        Arrays.fill(nothing, Float.NaN);
        BufferedImage picture = plot(target, nothing, 2, 4);
        assertEquals(WHITE, color(picture, TARGET, 0, 0));
        assertEquals(LOWEST, color(picture, TARGET, 0, 1));
        assertEquals(WHITE, color(picture, TARGET, 0, 3));
        assertEquals(HIGHEST, color(picture, TARGET, 1, 3));
        assertEquals(WHITE, color(picture, PREDICTION, 1, 2));
    }

    @Test
    void aConstantFieldHasOneColor() throws IOException {
        BufferedImage picture = plot(new float[8], new float[] {3, 3, 3, 3, 3, 3, 3, 3}, 2, 4);
        assertEquals(LOWEST, color(picture, TARGET, 0, 0));
        assertEquals(LOWEST, color(picture, PREDICTION, 1, 3));
    }

    @Test
    void titlesAreAboveTheFields() throws IOException {
        BufferedImage picture = plot(new float[8], new float[8], 2, 4);
        assertTrue(ink(picture, TARGET, TARGET + 514) > 100, "target");
        assertTrue(ink(picture, PREDICTION, PREDICTION + 514) > 200, "prediction (0.00 to 0.00)");
        assertNotEquals(ink(picture, TARGET, TARGET + 514), ink(picture, PREDICTION, PREDICTION + 514));
    }

    private static int ink(BufferedImage picture, int left, int right) {
        int dark = 0;
        for (int y = TOP - 30; y < TOP - 2; y++) {
            for (int x = left; x < right; x++) {
                dark += (picture.getRGB(x, y) & 0xFF) < 128 ? 1 : 0;
            }
        }
        return dark;
    }

    @Test
    void anyShapeFitsTheFigure() throws IOException {
        for (int[] shape : new int[][] {{1, 1}, {1, 3000}, {3000, 1}, {721, 1440}, {5, 4}}) {
            float[] field = new float[shape[0] * shape[1]];
            BufferedImage picture = plot(field, field, shape[0], shape[1]);
            assertEquals(FieldPlot.WIDTH, picture.getWidth(), Arrays.toString(shape));
        }
        assertThrows(IllegalArgumentException.class, () -> plot(new float[5], new float[6], 2, 3));
    }

    @Test
    void thePreviousFigureIsCleared() {
        FieldPlot plot = new FieldPlot();
        plot.png("a long title", new float[40], new float[40], 2, 20);
        float[] values = {0, 1, 2, Float.NaN};
        assertArrayEquals(new FieldPlot().png("t2m", values, values, 4, 1), plot.png("t2m", values, values, 4, 1));
    }

    @Test
    void aPixelOfSeveralCellsShowsTheirMean() {
        PlotField field = new PlotField(new float[] {0, 2, 4, 6, 1, 1, Float.NaN, 3}, 2, 4);
        assertEquals(1, field.mean(0, 1, 0.5, 0.5 + 1e-9) / 5 * 3, 1e-12, "mean of 1, 1, 3");
        assertEquals(3, field.mean(0, 1, 0, 0.5), 1e-12);
        assertEquals(0.5, field.mean(0, 1 / 3.0, 0, 0.5), 1e-12, "a whole 0 and a third of 2");
        assertTrue(Double.isNaN(field.mean(0.5, 0.75, 0.5, 1)));
    }

    @Test
    void ticksAreFewRoundNumbers() {
        assertEquals(1, FieldPlot.tickStep(1));
        assertEquals(1, FieldPlot.tickStep(8));
        assertEquals(2, FieldPlot.tickStep(9));
        assertEquals(50, FieldPlot.tickStep(360));
        assertEquals(100, FieldPlot.tickStep(720));
        assertEquals(200, FieldPlot.tickStep(1440));
    }
}
