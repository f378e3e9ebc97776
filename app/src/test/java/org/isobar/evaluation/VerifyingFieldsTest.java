package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.device.Device;
import org.isobar.device.PendingWork;
import org.isobar.fault.UserException;
import org.isobar.forecast.StartTime;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.ForecastKind;
import org.isobar.train.InputDamage;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The fields that forecasts are compared with: which are read when. */
class VerifyingFieldsTest {
    private static final CropWindow WINDOW = new CropWindow(3, 16, 32);
    private static final int HOURS = 6;

    @Test
    void fieldsThatWereReadAheadAreNotReadAgain(@TempDir Path directory) throws IOException {
        TinyRun.synthesize(directory);
        Path data = directory.resolve("tiny");
        Path years = data.resolve("valid");
        try (Era5Frames frames = Era5Frames.of(years, WINDOW, HOURS);
                ClimatologyFields climatology = ClimatologyFields.open(data.resolve("stats/time_means.npy"), WINDOW);
                VerifyingFields fields = new VerifyingFields(frames, climatology,
                    AreaWeights.of(AreaWeights.tutorialLatitudes(WINDOW.height())))) {
            List<StartTime> ahead = List.of(time(3), time(4));
            fields.readAhead(ahead).forEach(Runnable::run);
            float value = fields.initial(time(3)).truth(2).get(ValueLayout.JAVA_FLOAT, 0);
            for (int frame = 3; frame <= 5; frame++) {
                InputDamage.setValue(years.resolve("1981.h5"), frame, 2, 0, 0, Float.NaN);
            }
            assertEquals(List.of(), fields.readAhead(ahead));
            assertEquals(value, fields.valid(time(3)).truth(2).get(ValueLayout.JAVA_FLOAT, 0));
            fields.valid(time(4));
            assertThrows(UserException.class, () -> fields.valid(time(5)));
            List<Runnable> damaged = fields.readAhead(List.of(time(5)));
            assertThrows(UserException.class, damaged.getFirst()::run);
            List<StartTime> tooMany = IntStream.rangeClosed(0, fields.pairs()).mapToObj(_ -> time(6)).toList();
            assertEquals(List.of(), fields.readAhead(tooMany));
        }
    }

    /** Work that is still running when the scorer is closed reads the fields until it is cancelled. */
    @Test
    void memoryIsFreedAfterTheWorkThatReadsIt(@TempDir Path directory) throws IOException {
        TinyRun.synthesize(directory);
        Path data = directory.resolve("tiny");
        AtomicInteger run = new AtomicInteger();
        PartialScores scores = PartialScores.zero(new PartialScores.Extents(List.of(ForecastKind.values()), 2,
            WINDOW.channels(), WINDOW.width()), 1);
        try (Arena arena = Arena.ofConfined();
                Era5Frames frames = Era5Frames.of(data.resolve("valid"), WINDOW, HOURS);
                ClimatologyFields climatology = ClimatologyFields.open(data.resolve("stats/time_means.npy"), WINDOW)) {
            try (FieldScorer scorer = new FieldScorer(latest(run), frames, 1, climatology,
                    AreaWeights.tutorialLatitudes(WINDOW.height()))) {
                scorer.model(List.of(time(3)), scores).accept(time(3), 1, arena.allocate(WINDOW.bytes(), Float.BYTES));
                assertEquals(0, run.get());
            }
        }
        assertEquals(1 + 3 * WINDOW.channels(), run.get()); // reads ahead; verifies, scores and transforms variables
    }

    /** A device whose pending work, when cancelled, runs to its end, as tasks do that have begun. */
    private static Device latest(AtomicInteger run) {
        return (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class},
            (_, method, arguments) -> {
                assertEquals("startOnHost", method.getName());
                return new PendingWork() {
                    @Override
                    public void await() { }

                    @Override
                    public void cancel() {
                        IntStream.range(0, (int) arguments[0]).forEach(task -> {
                            ((IntConsumer) arguments[1]).accept(task);
                            run.incrementAndGet();
                        });
                    }
                };
            });
    }

    private static StartTime time(int frame) {
        return new StartTime(1981, frame, HOURS);
    }
}
