package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.imageio.ImageIO;

import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Time series and maps that {@code isobar forecast} writes beside its store. */
class ForecastProductsTest {
    private static final int WHITE = 0xFFFFFF;
    private static final List<PlacePoint> POINTS =
        PlacePoint.parse("On a grid point:66,22.5;Pole:90,5;Between:72,354.375");

    @TempDir
    private static Path directory;
    private static Path run;
    @TempDir
    private Path here;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
    }

    private TinyForecast forecast(String starts, List<PlacePoint> points, PictureRequest pictures) {
        return TinyForecast.of(run, Map.of(), new ForecastRun.Request(directory.resolve("tiny"),
            StartTime.parse(starts, 6), 2, here.resolve("out.zarr"), points, pictures));
    }

    private float[] chunk(String name) throws IOException {
        float[] field = new float[16 * 32];
        ByteBuffer.wrap(Files.readAllBytes(here.resolve("out.zarr").resolve(name))).order(ByteOrder.nativeOrder())
            .asFloatBuffer().get(field);
        return field;
    }

    @Test
    void aSeriesHasALineForEachStartLeadAndPoint() throws IOException {
        forecast("1981:4,1981:1", POINTS, PictureRequest.NONE).ended(0);
        List<String> lines = Files.readAllLines(here.resolve("out.points.csv"));
        assertEquals(1 + 2 * 2 * 3, lines.size());
        assertEquals("point,latitude,longitude,start,lead_hours,time,u10,v10,t2m", lines.getFirst());
        float[] t2m = chunk("t2m/1.1.0.0"); // the later start, 12 hours
        assertEquals("On a grid point,66.0,22.5,1981-01-02T00:00,12,1981-01-02T12:00,"
            + chunk("u10/1.1.0.0")[2 * 32 + 2] + "," + chunk("v10/1.1.0.0")[2 * 32 + 2] + "," + t2m[2 * 32 + 2],
            lines.get(10));
        assertEquals(t2m[0] + 5 / 11.25 * (t2m[1] - t2m[0]), value(lines.get(11)), 1e-3);
        assertEquals((t2m[32 + 31] + t2m[32] + t2m[64 + 31] + t2m[64]) / 4, value(lines.get(12)), 1e-3);
    }

    private static double value(String line) {
        return Double.parseDouble(line.substring(line.lastIndexOf(',') + 1));
    }

    /** The last frame of 1981 is number 11, so that the second step from frame 10 has no target. */
    @Test
    void picturesShowTheTargetWhereTheDataHaveIt() throws IOException {
        forecast("1981:10", List.of(), new PictureRequest(List.of("t2m"), List.of(1, 2))).ended(0);
        Path pictures = here.resolve("out.pictures");
        assertEquals(Set.of("t2m_1981-01-03T12_006h.png", "t2m_1981-01-03T12_012h.png"),
            TinyForecast.files(pictures).keySet());
        BufferedImage both = ImageIO.read(pictures.resolve("t2m_1981-01-03T12_006h.png").toFile());
        BufferedImage alone = ImageIO.read(pictures.resolve("t2m_1981-01-03T12_012h.png").toFile());
        int middle = both.getHeight() / 2;
        assertTrue((both.getRGB(300, middle) & WHITE) != WHITE);
        assertTrue((alone.getRGB(950, middle) & WHITE) != WHITE);
        assertEquals(WHITE, alone.getRGB(300, middle) & WHITE);
        assertFalse(Files.exists(here.resolve("out.points.csv")));
    }

    @Test
    void invalidRequestsAreRefusedBeforeTheForecast() throws IOException {
        String variable =
            forecast("1981:4", List.of(), new PictureRequest(List.of("z500"), List.of(1))).ended(2).screen();
        assertTrue(variable.contains("--pictures z500: the model forecasts u10, v10, t2m"), variable);
        String step = forecast("1981:4", List.of(), new PictureRequest(List.of("t2m"), List.of(3))).ended(2).screen();
        assertTrue(step.contains("--picture_steps 3: the forecasts have the steps 1 to 2"), step);
        Path mine = Files.writeString(here.resolve("out.points.csv"), "mine");
        String exists = forecast("1981:4", POINTS, PictureRequest.NONE).ended(2).screen();
        assertTrue(exists.contains(mine + " exists already"), exists);
        assertEquals(Map.of("out.points.csv", "mine"), TinyForecast.files(here));
    }
}
