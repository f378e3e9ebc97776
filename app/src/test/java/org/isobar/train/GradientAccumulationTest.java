package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps of several micro-batches train like steps of one batch, and like as many replicas. */
class GradientAccumulationTest {
    private static final double TOLERANCE = 1e-6;
    private static final List<String> RUN =
        List.of("global_batch_size=4", "num_iters=12", "dropout=0.1", "warmup=3", "keep=0",
        TinyRun.TWO_BLOCKS);

    @TempDir
    private static Path data;
    private static TinyRun whole;
    @TempDir
    private Path logs;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(data);
        whole = TinyRun.of(data, data.resolve("logs"), with());
        whole.succeeded();
    }

    private static String[] with(String... settings) {
        return Stream.concat(RUN.stream(), Stream.of(settings)).toArray(String[]::new);
    }

    /** Twelve steps in two epochs, with dropout: the same samples and the same masks. */
    @ParameterizedTest
    @CsvSource({"2, 1", "4, 2"})
    void microBatchesTrainLikeOneBatch(int microBatches, int workers) throws IOException {
        TinyRun run = TinyRun.of(data, logs, with("accumulate_steps=" + microBatches, "num_data_workers=" + workers))
            .succeeded();
        assertClose(whole.directory(), run.directory());
        assertTrue(run.log().contains("accumulate_steps " + microBatches), run.log());
        assertTrue(run.log().contains("local_batch_size " + 4 / microBatches), run.log());
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 2", "2, 1, 4", "1, 2, 4"})
    void ranksOfALayoutAccumulate(int tensor, int context, int microBatches) throws Exception {
        String[] settings = with("tensor_parallel=" + tensor, "context_parallel=" + context,
            "accumulate_steps=" + microBatches);
        ThreadJob job = ThreadJob.of(data, logs, List.of(StopRequest.NONE, StopRequest.NONE), settings).ended(0);
        assertClose(whole.directory(), job.directory());
    }

    @Test
    void divergingStepNamesItsSample() throws IOException {
        TinyRun one = TinyRun.of(data, logs.resolve("one"), with("lr=1e30"));
        TinyRun parts = TinyRun.of(data, logs.resolve("parts"), with("lr=1e30", "accumulate_steps=4"));
        assertEquals(2, one.code(), one.screen());
        assertEquals(2, parts.code(), parts.screen());
        assertTrue(parts.log().contains("first layer whose output is not finite"), parts.log());
        assertEquals(loss(one), loss(parts));
    }

    /** What the error line says of the loss, without the layer. */
    private static String loss(TinyRun run) throws IOException {
        String error = run.log().lines().filter(line -> line.contains(" - ERROR - ")).findFirst().orElseThrow();
        return error.replaceAll(".* - ERROR - ", "").replaceAll(";.*", "");
    }

    /** On a GPU, also with loss scaling; captured micro-batches have the bits of issued ones. */
    @Tag("cuda")
    @ParameterizedTest
    @CsvSource({"none, 2", "fp16, 4"})
    void gpuAccumulates(String mode, int microBatches) throws IOException {
        String[] settings = with("device=cuda", "dropout=0", "amp_mode=" + mode);
        String[] parts = and(settings, "accumulate_steps=" + microBatches);
        TinyRun one = TinyRun.of(data, logs.resolve("one"), settings).succeeded();
        TinyRun issued = TinyRun.of(data, logs.resolve("issued"), parts).succeeded();
        TinyRun captured = TinyRun.of(data, logs.resolve("captured"), and(parts, "enable_cuda_graphs=true"))
            .succeeded();
        assertArrayEquals(losses(one.directory()), losses(issued.directory()), TOLERANCE);
        RunOutputs.of(issued.directory()).assertSameLossesAndWeights(RunOutputs.of(captured.directory()),
            captured.screen());
    }

    private static String[] and(String[] settings, String further) {
        return Stream.concat(Stream.of(settings), Stream.of(further)).toArray(String[]::new);
    }

    private static void assertClose(Path expected, Path found) throws IOException {
        assertArrayEquals(losses(expected), losses(found), TOLERANCE);
        Map<String, float[]> weights = weights(expected);
        weights(found).forEach((name, values) ->
            assertArrayEquals(weights.get(name), values, (float) TOLERANCE, name));
    }

    private static double[] losses(Path directory) throws IOException {
        List<String> lines = RunOutputs.losses(directory);
        assertEquals(4, lines.size(), "two epochs");
        return lines.stream().mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf('=') + 1)))
            .toArray();
    }

    private static Map<String, float[]> weights(Path directory) {
        Map<String, float[]> weights = new TreeMap<>();
        try (SafeTensorsFile file = SafeTensorsFile.open(directory.resolve("model.safetensors"))) {
            for (String name : file.names()) {
                float[] values = new float[Math.toIntExact(file.shape(name).elements())];
                file.read(name, MemorySegment.ofArray(values));
                weights.put(name, values);
            }
        }
        return weights;
    }
}
