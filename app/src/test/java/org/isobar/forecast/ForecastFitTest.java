package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.data.Era5Frames;
import org.isobar.fault.UserException;
import org.isobar.pretrained.Channel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Data whose names or coordinates are not those of the model are refused. The model is that of the example. */
class ForecastFitTest {
    private static final ForecastModel MODEL =
        ForecastModel.open(Path.of("..", "examples", "forecast", "model"), Map.of(), Map.of());
    private static final List<String> NAMES = MODEL.config().channels().stream().map(Channel::name).toList();

    @TempDir
    private Path directory;

    private static double[] latitudes(int rows, double first, double step) {
        return IntStream.range(0, rows).mapToDouble(j -> first + j * step).toArray();
    }

    private int frames(CropWindow extents, Map<String, ?> beside) {
        DataFixtures.year(directory.resolve("1979.h5"), 2, extents, (t, c, j, i) -> t + c + j + i, beside);
        try (Era5Frames inputs = MODEL.inputs(directory); Era5Frames outputs = MODEL.outputs(directory)) {
            return Math.min(inputs.count(1979), outputs.count(1979));
        }
    }

    private String refusal(Map<String, ?> beside) {
        return assertThrows(UserException.class, () -> frames(new CropWindow(4, 16, 32), beside)).getMessage();
    }

    @Test
    void theSameGridAndMoreChannelsFit() {
        Map<String, Object> beside = new HashMap<>();
        assertEquals(2, frames(new CropWindow(4, 16, 32), beside));
        beside.put("channel", new String[] {NAMES.get(0), NAMES.get(1), NAMES.get(2), "z500"});
        beside.put("lat", latitudes(16, 90, -12));
        beside.put("lon", new float[32]);
        for (int i = 0; i < 32; i++) {
            ((float[]) beside.get("lon"))[i] = 11.25f * i;
        }
        assertEquals(2, frames(new CropWindow(4, 16, 32), beside));
    }

    /** By the tutorial's rule, rows of data that lack the last one lie up to a cell from their places. */
    @Test
    void theTutorialsRuleIsNotExact() {
        assertEquals(2, frames(new CropWindow(3, 17, 32), Map.of("lat", latitudes(17, 90, -11.25))));
    }

    @Test
    void whatDoesNotFitIsNamed() {
        String channel = refusal(Map.of("channel", new String[] {"u10", "t2m", "v10", "z500"}));
        assertTrue(channel.contains("/1979.h5 has t2m as channel 1, where the model has v10. Use data with the "
            + "channels u10, v10, t2m, or train"), channel);
        String flipped = refusal(Map.of("lat", latitudes(16, -90, 12)));
        assertTrue(flipped.contains("has latitude -90.0 in row 0, where the model has 90.0. Use"), flipped);
        String shifted = refusal(Map.of("lon", latitudes(32, -180, 11.25)));
        assertTrue(shifted.contains("has longitude -180.0 in column 0, where the model has 0.0. Use"), shifted);
        String few = assertThrows(UserException.class,
            () -> frames(new CropWindow(3, 8, 32), Map.of())).getMessage();
        assertTrue(few.contains("has frames of 3 x 8 x 32, and the model reads 3 x 16 x 32"), few);
    }
}
