package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes connected by sockets have the losses and weights of one process. */
@Execution(ExecutionMode.CONCURRENT)
class MultiProcessTrainingTest {
    private static final String[] RUN = {TinyRun.WIDER, "num_heads=4", TinyRun.TWO_BLOCKS, "global_batch_size=4",
        "num_iters=12"};

    @TempDir
    private static Path data;
    private static TinyRun alone;

    @TempDir
    private Path directory;

    @BeforeAll
    static void trainAlone() {
        TinyRun.synthesize(data);
        alone = TinyRun.of(data, data.resolve("logs"), RUN).succeeded();
    }

    @ParameterizedTest
    @CsvSource("2, --bucket_cap_mb=1")
    void lossesAgreeWithOneProcess(int processes, String layout) throws Exception {
        checkLosses(train(processes, layout.split(" ")));
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"2, --tensor_parallel=2", "2, --context_parallel=2", "4, --tensor_parallel=4", "2, ''",
        "4, --tensor_parallel=2 --context_parallel=2 --parallel_order=cp-tp-dp", "4, --tensor_parallel=2",
        "4, --context_parallel=4", "4, ''", "3, --context_parallel=3",
        "8, --tensor_parallel=2 --context_parallel=2 --parallel_order=tp-dp-cp", "8, --tensor_parallel=4",
        "16, --tensor_parallel=2 --context_parallel=2 --parallel_order=cp-tp-dp"})
    void lossesOfMoreLayoutsAgree(int processes, String layout) throws Exception {
        lossesAgreeWithOneProcess(processes, layout);
    }

    /** Partitioned weights are merged into one file, from which every layout can start. */
    @Test
    void everyLayoutLoadsMergedWeights() throws Exception {
        ProcessJob job = train(2, "--tensor_parallel=2");
        checkLosses(job);
        Path weights = job.directory().resolve("model.safetensors");
        compareWeights(alone.weights(), weights);
        TinyRun whole = TinyRun.of(data, directory.resolve("whole"), TinyRun.WIDER, "num_heads=4",
            TinyRun.TWO_BLOCKS, "global_batch_size=4", "num_iters=6", "init_weights=" + weights).succeeded();
        ProcessJob cut = ProcessJob.run(data, Files.createDirectory(directory.resolve("cut")), 2,
            options("--context_parallel=2", "--init_weights=" + weights, "--num_iters=6"));
        for (String tag : List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid")) {
            double first = whole.events().scalar(tag, 0);
            assertEquals(first, cut.events().scalar(tag, 0), 1e-6 * first, tag);
            assertTrue(first < 0.99 * alone.events().scalar(tag, 0), tag + " starts at " + first);
        }
    }

    @Test
    void independentReplicasAreLogged() throws Exception {
        ProcessJob job = train(2, "--noddp", "--set=prove_collectives=60");
        String log = Files.readString(job.directory().resolve("out.log"));
        assertTrue(log.contains("--noddp: the 2 data-parallel replicas train independently"), log);
        assertTrue(log.contains("Collectives of all 2 ranks match ("), log);
        double together = ProcessJob.losses(alone.directory()).get("Avg val loss=").getLast();
        double apart = ProcessJob.losses(job.directory()).get("Avg val loss=").getLast();
        assertTrue(Math.abs(apart / together - 1) > 1e-4, "as if the gradients had been averaged: " + apart);
        assertEquals(alone.events().scalar("Loss/train", 0), job.events().scalar("Loss/train", 0),
            1e-6);
    }

    private ProcessJob train(int processes, String... layout) throws Exception {
        return ProcessJob.run(data, directory, processes, options(layout));
    }

    private static String[] options(String... more) {
        return Stream.concat(Stream.of(RUN).map(setting -> "--set=" + setting),
            Stream.of(more).filter(option -> !option.isEmpty())).toArray(String[]::new);
    }

    private static void checkLosses(ProcessJob job) throws IOException {
        Map<String, List<Double>> expected = ProcessJob.losses(alone.directory());
        Map<String, List<Double>> actual = ProcessJob.losses(job.directory());
        assertEquals(expected.keySet(), actual.keySet());
        expected.forEach((kind, losses) -> {
            assertEquals(2, losses.size());
            for (int epoch = 0; epoch < losses.size(); epoch++) {
                double loss = losses.get(epoch);
                assertEquals(loss, actual.get(kind).get(epoch), 1e-5 * loss, kind);
            }
        });
        String log = Files.readString(job.directory().resolve("out.log"));
        assertTrue(job.shown(0).endsWith(log), job.screens());
        for (int rank = 1; rank < job.size(); rank++) {
            assertEquals("", job.shown(rank).replaceAll("WARNING: Using incubator modules.*\n", ""), job.screens());
        }
    }

    private static void compareWeights(Path expected, Path actual) {
        try (SafeTensorsFile whole = SafeTensorsFile.open(expected); SafeTensorsFile cut = SafeTensorsFile.open(actual);
            Arena arena = Arena.ofConfined()) {
            assertEquals(whole.names(), cut.names());
            for (String name : whole.names()) {
                assertEquals(whole.shape(name), cut.shape(name));
                long elements = whole.shape(name).elements();
                MemorySegment a = arena.allocate(elements * Float.BYTES, Float.BYTES);
                MemorySegment b = arena.allocate(elements * Float.BYTES, Float.BYTES);
                whole.read(name, a);
                cut.read(name, b);
                double difference = 0;
                double norm = 0;
                for (long i = 0; i < elements; i++) {
                    double value = a.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                    difference += Math.pow(b.getAtIndex(ValueLayout.JAVA_FLOAT, i) - value, 2);
                    norm += value * value;
                }
                if (!name.endsWith("k.bias")) { // changed only by rounding
                    assertEquals(0, Math.sqrt(difference / norm), 1e-4, name);
                }
            }
        }
    }
}
