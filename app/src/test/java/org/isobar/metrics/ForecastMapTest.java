package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import javax.imageio.ImageIO;

import org.junit.jupiter.api.Test;

/** Checks pixels of the decoded figure. Fields of 2 x 4 points fill boxes of 563 x 282 pixels below row 96. */
class ForecastMapTest {
    private static final double[] SOUTH_FIRST = {-45, 45};
    private static final double[] NORTH_FIRST = {45, -45};
    private static final double[] LONGITUDES = {0, 90, 180, 270};
    private static final float[] FORECAST = {0, 1, 2, 3, 4, 5, 6, 8};
    private static final float[] TARGET = {0, 3, 2, 1, 4, 5, 6, -2};
    private static final int WHITE = 0xFFFFFF;
    private static final int PANEL = 653;

    private static BufferedImage plot(double[] latitudes, Optional<float[]> target) throws IOException {
        byte[] png = new ForecastMap(latitudes, LONGITUDES).png("t2m", "K", FORECAST, target);
        return ImageIO.read(new ByteArrayInputStream(png));
    }

    private static int color(BufferedImage picture, int panel, int row, int column) {
        return picture.getRGB(panel * PANEL + 70 + column * 141 + 70, 96 + row * 141 + 70) & WHITE;
    }

    @Test
    void targetAndForecastHaveOneScaleAndTheDifferenceIsSymmetric() throws IOException {
        BufferedImage picture = plot(NORTH_FIRST, Optional.of(TARGET));
        ColorMap turbo = ColorMap.turbo();
        ColorMap diverging = ColorMap.diverging();
        for (int i = 0; i < FORECAST.length; i++) {
            assertEquals(turbo.color((TARGET[i] + 2) / 10), color(picture, 0, i / 4, i % 4), "target " + i);
            assertEquals(turbo.color((FORECAST[i] + 2) / 10), color(picture, 1, i / 4, i % 4), "forecast " + i);
            assertEquals(diverging.color((FORECAST[i] - TARGET[i] + 10) / 20), color(picture, 2, i / 4, i % 4),
                "difference " + i);
        }
        assertEquals(WHITE, color(picture, 2, 0, 0), "no difference");
        int bar = 96 + 282 + 30;
        assertArrayEquals(picture.getRGB(70, bar, 563, 60, null, 0, 563),
            picture.getRGB(PANEL + 70, bar, 563, 60, null, 0, 563), "bars and their labels");
    }

    @Test
    void northIsAtTheTop() throws IOException {
        BufferedImage picture = plot(SOUTH_FIRST, Optional.of(TARGET));
        assertEquals(ColorMap.turbo().color(1), color(picture, 1, 0, 3));
        assertEquals(ColorMap.turbo().color(0.2), color(picture, 1, 1, 0));
    }

    @Test
    void withoutATargetTheForecastIsAlone() throws IOException {
        BufferedImage picture = plot(NORTH_FIRST, Optional.empty());
        assertEquals(ColorMap.turbo().color(1), color(picture, 1, 1, 3));
        assertEquals(WHITE, color(picture, 0, 1, 3));
        assertEquals(WHITE, color(picture, 2, 1, 3));
    }

    @Test
    void divergingColorsAreWhiteInTheMiddle() {
        ColorMap map = ColorMap.diverging();
        assertEquals(WHITE, map.color(0.5));
        assertTrue((map.color(0) & 0xFF) > map.color(0) >> 16, "blue at the low end");
        assertTrue((map.color(1) & 0xFF) < map.color(1) >> 16, "red at the high end");
    }

    @Test
    void ticksAreAtRoundDegrees() {
        double[] globe = new double[32];
        for (int i = 0; i < globe.length; i++) {
            globe[i] = 11.25 * i;
        }
        assertEquals(List.of("0", "60E", "120E", "180", "120W", "60W"),
            ForecastMap.ticks(globe, 320, 'E', 'W').stream().map(PlotPainter.Tick::label).toList());
        assertEquals(new PlotPainter.Tick(165, "180"), ForecastMap.ticks(globe, 320, 'E', 'W').get(3));
        assertEquals(List.of(new PlotPainter.Tick(45, "50N"), new PlotPainter.Tick(30, "52N"),
            new PlotPainter.Tick(15, "54N")), ForecastMap.ticks(new double[] {55, 53, 51, 49}, 60, 'N', 'S').stream()
                .filter(tick -> tick.label().matches("5[024]N")).toList());
    }
}
