package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.data.survey.StatisticsScan;
import org.isobar.data.survey.YearFiles;
import org.isobar.distributed.job.JobSecret;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.telemetry.Screen;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The presets of WeatherBench 2's grids train on files as they are converted, with names, coordinates and times. */
class WeatherBenchPresetTest {
    @TempDir
    private Path directory;

    /** A year with the preset's channels in another order, and one more. Land-sea mask and orography are constant. */
    private void year(String part, int year, RunConfig preset, double[] latitudes, int columns) {
        List<String> names = new ArrayList<>(preset.data().channels().variables());
        names.add("tcwv");
        names.addAll(preset.data().channels().constants());
        Collections.reverse(names);
        DataFixtures.year(directory.resolve(part + "/" + year + ".h5"), 5, new CropWindow(names.size(),
            latitudes.length, columns), (t, c, j, i) -> (float) Math.sin(0.1 * (c < 2 ? 0 : t) + 0.2 * j * c + 0.3 * i),
            Map.of("channel", names.toArray(String[]::new), "lat", latitudes,
            "lon", IntStream.range(0, columns).mapToDouble(i -> 360.0 * i / columns).toArray(),
            "time", DataFixtures.times(year, 6, 5)));
    }

    private RunConfig config(String name, String... settings) {
        ConfigRequest request = new ConfigRequest(Path.of("..", "config", "ViT.yaml"), name, Map.of())
            .with("data_dir", directory.toString()).with("expdir", directory.resolve("logs").toString());
        for (String setting : settings) {
            request = request.set(setting);
        }
        return ConfigLoader.load(request);
    }

    @ParameterizedTest
    @CsvSource({"wb2_64x32, 32, 64, 87.1875, -87.1875, 8", "wb2_240x121, 121, 240, 90, -88.5, 24"})
    void trainsOnConvertedData(String name, int rows, int columns, double north, double south, int patch) {
        RunConfig preset = config(name, "embed_dim=16", "depth=1", "num_heads=2", "patch_size=" + patch,
            "global_batch_size=2", "num_iters=2", "num_data_workers=0", "threads=1", "keep=0", "warmup=0");
        assertEquals(24, preset.model().inChannels());
        assertEquals(18, preset.model().outChannels());
        double[] latitudes = IntStream.range(0, rows)
            .mapToDouble(j -> north - j * (north - south) / (preset.model().height() - 1)).toArray();
        year("train", 1979, preset, latitudes, columns);
        year("valid", 1980, preset, latitudes, columns);
        try (YearFiles years = YearFiles.open(List.of(directory.resolve("train")))) {
            StatisticsScan.of(years, (_, _) -> { }).write(directory.resolve("stats"), "--out");
        }
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(0, TrainingRun.run(preset, new RunContext(JobSecret.none(), Map.of(), Screen.plain(screen),
            StopRequest.NONE)), () -> screen.toString(StandardCharsets.UTF_8));
        ModelDirectory model = ModelDirectory.open(preset.output().experimentDirectory());
        assertEquals(preset.data().channels().variables(), model.config().forecastNames());
        assertEquals(List.of("lsm", "zs", "sin_day", "cos_day", "sin_year", "cos_year"),
            model.config().channels().stream().skip(18).map(channel -> channel.name()).toList());
        assertEquals(north, model.config().grid().latitudes().getFirst());
        assertEquals(south, model.config().grid().latitudes().getLast(), 1e-9);
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains("RMSE(q700)/valid: model "));
    }
}
