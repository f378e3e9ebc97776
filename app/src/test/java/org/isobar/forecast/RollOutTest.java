package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.host.FreePorts;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.device.Device;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.job.JobSecret;
import org.isobar.fault.UserException;
import org.isobar.nn.Pass;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.InputDamage;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.saving.StopRequest;
import org.isobar.train.saving.WeightsFile;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Roll-outs of a trained model from the frames of its validation year. */
class RollOutTest {
    private static final List<StartTime> STARTS = StartTime.parse("1981:0,1981-01-02T00,1981:11", 6);
    private static final int STEPS = 3;
    @TempDir
    private static Path directory;
    private static Path data;
    private static Path run;
    private static Map<String, float[]> expected;

    @BeforeAll
    static void train() throws Exception {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
        expected = stepByHand();
    }

    /** Steps the model as training evaluates it, with the next input made on the host. */
    private static Map<String, float[]> stepByHand() {
        ForecastModel model = ForecastModel.open(run, Map.of(), Map.of());
        MemoryPlan plan = MemoryPlan.of(model.run().model(), 1);
        Map<String, float[]> fields = new HashMap<>();
        try (Device device = new CpuDevice(1); StepMemory memory = plan.allocate(device);
            Era5Frames frames = Era5Frames.of(data, model.input(), 6)) {
            device.reserve(plan.footprint());
            Communicators alone = Communicators.alone(device.ops().memory()::copy);
            Replica replica =
                new Replica(device, model.run().model(), 1, memory, alone, GradientSync.Options.DEFAULT);
            new WeightsFile(replica.model().parameters(), device, alone).load(model.weights());
            try (var images = device.arena("images", 1 << 20)) {
                Tensor input = images.allocate(DType.F32, model.run().model().input(1).extents());
                float[] values = new float[(int) input.elements()];
                for (StartTime start : STARTS) {
                    frames.read(start.year(), start.frame(), model.normalization(), MemorySegment.ofArray(values), 0);
                    for (int step = 1; step <= STEPS; step++) {
                        device.upload(input, MemorySegment.ofArray(values));
                        replica.model().forward(input, new Pass.None(), Pass.Inspector.NONE);
                        device.download(MemorySegment.ofArray(values), replica.model().prediction());
                        fields.put(start + " " + step, physical(values, model.normalization()));
                    }
                }
            }
        }
        return fields;
    }

    private static float[] physical(float[] normalized, Normalization normalization) {
        float[] fields = new float[normalized.length];
        int pixels = fields.length / normalization.means().length;
        for (int i = 0; i < fields.length; i++) {
            fields[i] = (float) ((double) normalized[i] * normalization.spreads()[i / pixels]
                + normalization.means()[i / pixels]);
        }
        return fields;
    }

    /** Rolls out on ranks that are threads; returns the fields by start and step. */
    private static Map<String, float[]> rollOut(Path trained, Path years, int ranks, List<StartTime> starts, int steps,
        Map<String, String> settings) throws InterruptedException, ExecutionException {
        return rollOut(trained, years, ranks, starts, steps, settings, new ConcurrentHashMap<>());
    }

    /** Also enters the fields that there were when a rank had no more to do, by rank. */
    private static Map<String, float[]> rollOut(Path trained, Path years, int ranks, List<StartTime> starts, int steps,
        Map<String, String> settings, Map<Integer, Set<String>> ends) throws InterruptedException, ExecutionException {
        Map<String, float[]> fields = new ConcurrentHashMap<>();
        String port = String.valueOf(FreePorts.one());
        List<Callable<Void>> work = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            Map<String, String> environment = Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
                "WORLD_SIZE", String.valueOf(ranks), "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", port,
                "ISOBAR_THREADS", "1");
            ForecastModel model = ForecastModel.open(trained, settings, environment);
            RunContext context = new RunContext(JobSecret.none(), environment, Screen.plain(System.err),
                StopRequest.NONE);
            work.add(() -> ForecastSession.run(model, context, _ -> { }, session -> {
                try (Era5Frames frames = Era5Frames.of(years, model.input(), 6)) {
                    session.rollOut().run(starts, steps, InitialFields.of(frames, model),
                        (start, step, values) -> {
                            float[] before = fields.put(start + " " + step, values.toArray(ValueLayout.JAVA_FLOAT));
                            assertTrue(before == null, () -> start + " was delivered twice");
                        });
                    ends.put(model.run().ranks().rank(), Set.copyOf(fields.keySet()));
                    session.consensus().barrier();
                }
                return null;
            }));
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(ranks)) {
            for (Future<Void> done : threads.invokeAll(work)) {
                done.get();
            }
        }
        return fields;
    }

    /** It would take a longer wait for a failure of the job. */
    @Test
    void aReplicaWithFewerStartsWaitsForAFewStepsAtATime() throws Exception {
        Map<Integer, Set<String>> ends = new ConcurrentHashMap<>();
        assertEquals(3 * 21, rollOut(run, data, 2, STARTS, 21, Map.of(), ends).size());
        assertTrue(ends.get(1).contains(STARTS.getLast() + " 20"), () -> ends.get(1).toString());
    }

    @Test
    void theBitsAreThoseOfSteppingByHand() throws Exception {
        Map<String, float[]> fields = rollOut(run, data, 1, STARTS, STEPS, Map.of());
        assertEquals(expected.keySet(), fields.keySet());
        fields.forEach((key, values) -> assertArrayEquals(expected.get(key), values, key));
    }

    /** Batches with a remainder, replicas with unequal shares, and a replica that is cut in two ways. */
    @ParameterizedTest
    @CsvSource({"1, 2, 1, 1", "2, 1, 1, 1", "4, 2, 2, 2"})
    void everyLayoutGivesTheSameFields(int ranks, String batch, String tp, String cp) throws Exception {
        Map<String, float[]> fields = rollOut(run, data, ranks, STARTS, STEPS,
            Map.of("local_batch_size", batch, "tensor_parallel", tp, "context_parallel", cp));
        assertEquals(expected.keySet(), fields.keySet());
        Normalization normalization = ForecastModel.open(run, Map.of(), Map.of()).normalization();
        fields.forEach((key, values) -> {
            int pixels = values.length / normalization.means().length;
            for (int i = 0; i < values.length; i++) {
                assertEquals(expected.get(key)[i], values[i], 1e-5 * normalization.spreads()[i / pixels]
                    + Math.ulp(values[i]), key);
            }
        });
    }

    @Test
    void aModelOfFewerOutputsMakesOneStep() throws Exception {
        Path smaller = TinyRun.of(directory, directory.resolve("fewer"), "num_iters=12", "n_out_channels=2")
            .succeeded().directory();
        assertEquals(2 * 16 * 32, rollOut(smaller, data, 1, STARTS, 1, Map.of()).values().iterator().next().length);
        assertTrue(refusal(smaller, data, STARTS, 2).contains("the model reads 3 variables and forecasts 2 of them"));
    }

    @Test
    void whatIsNotFiniteIsNamed() throws Exception {
        Path years = directory.resolve("damaged");
        Files.createDirectories(years);
        Files.copy(data.resolve("valid/1981.h5"), years.resolve("1981.h5"));
        InputDamage.setValue(years.resolve("1981.h5"), 4, 2, 5, 7, Float.NaN);
        String refusal = refusal(run, years, StartTime.parse("1981:4", 6), 1);
        assertTrue(refusal.contains("the initial field of 1981-01-02T00 is not finite: NaN in " + years
            + "/1981.h5, time step 4, channel 2 (t2m), row 5, column 7"), refusal);
    }

    @Test
    void aDivergingForecastIsNamedWithItsStep() throws Exception {
        ModelDirectory model = ModelDirectory.open(run);
        Path diverging = Files.createDirectories(directory.resolve("diverging"));
        try (SafeTensorsFile weights = SafeTensorsFile.open(model.weights())) {
            SafeTensorsWriter.write(diverging.resolve("model.safetensors"), weights.names().stream()
                .map(name -> new SafeTensorsWriter.NamedTensor(name, weights.shape(name), values -> {
                    weights.read(name, values);
                    if (name.equals("head.weight")) {
                        values.setAtIndex(ValueLayout.JAVA_FLOAT, 0, Float.NaN);
                    }
                })).toList(), Map.of());
        }
        ModelDirectory.complete(diverging, model.config(), model.normalization(), model.extra(), "");
        String refusal = refusal(diverging, data, STARTS, 1);
        assertTrue(refusal.matches("the forecast from 1981-01-01T00 is not finite at step 1 \\(6 h\\): NaN in "
            + "u10, row \\d+, column \\d+; .*"), refusal);
    }

    @Test
    void startsOutsideTheDataAreRefused() throws Exception {
        String frame = refusal(run, data, StartTime.parse("1981:12", 6), 1);
        assertTrue(frame.contains("has the time steps 0 to 11, and not 12"), frame);
        String year = refusal(run, data, StartTime.parse("2018-01-03", 6), 1);
        assertTrue(year.contains("the years are [1979, 1980, 1981, 1982]"), year);
    }

    private static String refusal(Path trained, Path years, List<StartTime> starts, int steps)
        throws InterruptedException {
        ExecutionException failure = assertThrows(ExecutionException.class,
            () -> rollOut(trained, years, 1, starts, steps, Map.of()));
        return ((UserException) failure.getCause()).getMessage();
    }

    @Test
    void aStartIsATimeOfAFrame() throws IOException {
        assertEquals(List.of(new StartTime(2018, 9, 6)), StartTime.parse("2018-01-03T06", 6));
        assertEquals("2018-01-03T07", StartTime.parse("2018-01-03T07", 1).getFirst().toString());
        assertEquals(List.of(new StartTime(2018, 18, 3)), StartTime.parse("2018-01-03T06", 3));
        assertEquals("2020-12-31T18", new StartTime(2020, 4 * 366 - 1, 6).toString());
        for (String wrong : List.of("2018-01-03T05", "2018-01-03T06:30", "yesterday", "2018-02-30", "2018:1,2018:1",
            "")) {
            assertThrows(UserException.class, () -> StartTime.parse(wrong, 6), wrong);
        }
    }
}
