package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Random;
import javax.imageio.ImageIO;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reads pictures back with the JDK's decoder, which checks the chunks' checksums. */
class PngEncoderTest {
    private static final int RGB = 0xFFFFFF;

    @ParameterizedTest
    @CsvSource({"1,1", "1,7", "5,1", "33,17", "400,300"})
    void anotherDecoderReadsEveryPixel(int width, int height) throws IOException {
        Random random = new Random(width);
        Raster picture = new Raster(width, height);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                picture.blend(x, y, random.nextInt(RGB + 1), 1);
            }
        }
        BufferedImage read = ImageIO.read(new ByteArrayInputStream(PngEncoder.encode(picture)));
        assertEquals(width, read.getWidth());
        assertEquals(height, read.getHeight());
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                assertEquals(picture.color(x, y), read.getRGB(x, y) & RGB);
            }
        }
    }
}
