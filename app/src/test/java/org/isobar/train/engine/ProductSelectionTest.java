package org.isobar.train.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.isobar.backend.cuda.NativeEnvironment;
import org.isobar.config.RunConfig;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;
import org.isobar.distributed.ThreadMessages;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.train.ProcessJob;
import org.isobar.train.RunOutputs;
import org.isobar.train.TinyRun;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Runs of preset tiny with a simulated cuBLASLt that has several algorithms, some of them bad. */
@Isolated("Every other run of this process would take its algorithms, too.")
@Tag("simulated")
class ProductSelectionTest {
    /** Only "split" is right, has the same bits each time, and is faster than the first. */
    private static final String ALGORITHMS = "slow inexact unequal failing refused split";
    private static final int STEPS = 12;

    @TempDir
    private static Path data;
    private static TinyRun usual;

    @TempDir
    private Path logs;

    @BeforeAll
    static void trainWithOneAlgorithm() {
        TinyRun.synthesize(data);
        usual = run(data.resolve("logs"), data).succeeded();
    }

    private static TinyRun run(Path logs, Path cache, String... settings) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("ISOBAR_CACHE", cache.toString());
        return TinyRun.of(data, logs, UnaryOperator.identity(), StopRequest.NONE, environment, Stream.concat(
            Stream.of("num_iters=" + STEPS, "device=cuda", "amp_mode=bf16"), Stream.of(settings))
            .toArray(String[]::new));
    }

    private TinyRun run(String algorithms, String name, String... settings) {
        CompletableFuture<TinyRun> run = new CompletableFuture<>();
        NativeEnvironment.with("ISOBAR_SIM_LT", algorithms, "",
            () -> run.complete(run(logs.resolve(name), logs, settings).succeeded()));
        return run.join();
    }

    private static List<String> lines(TinyRun run, String containing) throws IOException {
        return run.log().lines().filter(line -> line.contains(containing)).toList();
    }

    /** The numbers in the line that says what was chosen: products, timed ones, those with another algorithm. */
    private static List<Integer> numbers(TinyRun run) throws IOException {
        List<String> lines = lines(run, "Products: algorithms of");
        assertEquals(1, lines.size(), run.screen());
        String line = lines.getFirst().replaceFirst(".*Products: ", "");
        assertTrue(line.matches("algorithms of cuBLASLt 13.2.1 for \\d+ products, \\d+ of them timed now; \\d+ are not "
            + "those that it prefers; once each, the products take [\\d.]+ ms instead of [\\d.]+ ms"), line);
        return Stream.of(line.replace("cuBLASLt 13.2.1", "").replaceFirst("once each.*", "").split("\\D+"))
            .filter(number -> !number.isEmpty()).map(Integer::valueOf).toList();
    }

    private static String engine(TinyRun run) throws IOException {
        String manifest =
            Files.readString(run.directory().resolve("checkpoints/checkpoint-" + STEPS + "/checkpoint.json"));
        return manifest.replaceFirst("(?s).*\"products\" : \"([^\"]*)\".*", "$1");
    }

    private static void assertSame(TinyRun expected, TinyRun found) throws IOException {
        RunOutputs.of(expected.directory()).assertEqualTo(RunOutputs.of(found.directory()), found.screen());
    }

    private static void damage(Path file) {
        try {
            byte[] bytes = Files.readAllBytes(file);
            bytes[bytes.length / 3] ^= 1;
            Files.write(file, bytes);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Test
    void theFastestRightAlgorithmIsChosenOnceAndKept() throws IOException {
        TinyRun first = run(ALGORITHMS, "first");
        int products = numbers(first).getFirst();
        assertEquals(List.of(products, products, products), numbers(first));
        for (String bad : List.of("is wrong on this device", "has other bits in a second call",
            "fails: product", "fails: cublasLtMatmulAlgoCheck")) {
            assertFalse(lines(first, "WARNING - Products: an algorithm of cuBLASLt 13.2.1 is not used: it " + bad)
                .isEmpty(), first.log());
        }
        RunOutputs split = RunOutputs.of(run("split", "split").directory());
        split.assertEqualTo(RunOutputs.of(first.directory()), first.screen());
        assertFalse(Arrays.equals(RunOutputs.of(usual.directory()).weights(), split.weights()), first.screen());

        TinyRun again = run(ALGORITHMS, "again");
        assertEquals(List.of(products, 0, products), numbers(again));
        try (Stream<Path> files = Files.list(logs.resolve("products"))) {
            files.forEach(ProductSelectionTest::damage);
        }
        TinyRun damaged = run(ALGORITHMS, "damaged", "enable_cuda_graphs=true");
        assertEquals(List.of(products, products, products), numbers(damaged));
        for (TinyRun same : List.of(again, damaged)) {
            assertSame(first, same);
            assertEquals(engine(first), engine(same));
        }
        assertTrue(engine(first).matches("cuBLASLt 13.2.1 timed [0-9a-f]{32}"), engine(first));
        assertEquals("cuBLASLt 13.2.1 heuristic", engine(usual));
    }

    /** No algorithm computes a weight's gradient and its bias's together: the two steps are timed. */
    @Test
    void productsWithoutTheSumsOfABiasAreTimedAsWell() throws IOException {
        TinyRun timed = run("no_sums no_sums", "timed");
        assertEquals(numbers(timed).get(0), numbers(timed).get(1));
        assertSame(run("no_sums", "separate"), timed);
    }

    @Test
    void theHeuristicDecidesIfConfigured() throws IOException {
        TinyRun slow = run("slow split", "heuristic", "product_algorithms=heuristic", "num_iters=" + STEPS);
        assertTrue(lines(slow, "Products: ").isEmpty(), slow.log());
        assertSame(usual, slow);
    }

    @Test
    void aResumedRunSaysThatTheAlgorithmsAreOthers() throws IOException {
        run("split", "resumed");
        TinyRun resumed = run("slow split", "resumed", "resume=auto", "num_iters=24", "force=true");
        List<String> lines = lines(resumed, "Products: the checkpoint's steps");
        assertEquals(1, lines.size(), resumed.log());
        assertTrue(lines.getFirst().contains("were computed by cuBLASLt 13.2.1 heuristic, the next ones by cuBLASLt "
            + "13.2.1 timed " + engine(resumed, 24) + ": bits may differ"), lines.getFirst());
    }

    private static String engine(TinyRun run, int step) throws IOException {
        return Files.readString(run.directory().resolve("checkpoints/checkpoint-" + step + "/checkpoint.json"))
            .replaceFirst("(?s).*\"products\" : \"cuBLASLt 13.2.1 timed ([^\"]*)\".*", "$1");
    }

    /** Two ranks, each with a device of its own; what rank 1's library offers when the ranks agree. */
    private List<Map<?, String>> agreed(String offered, ByteArrayOutputStream screen) {
        List<RankMessages> messages = ThreadMessages.of(2);
        RunConfig config = TinyRun.config(data, logs,
            Map.of("WORLD_SIZE", "2", "RANK", "0", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "1"), "device=cuda");
        RunConfig other = config.as(1, config.training());
        MemoryPlan plan = MemoryPlan.of(config.model(), 1);
        CompletableFuture<List<Map<?, String>>> used = new CompletableFuture<>();
        try (CudaDevice leader = CudaFixture.device(); RunLog log = new RunLog(Screen.plain(screen))) {
            ProductSelection first = new ProductSelection(config, leader, log, Map.of("ISOBAR_CACHE", logs.toString()));
            NativeEnvironment.with("ISOBAR_SIM_LT", "slow split", "", () -> first.decide(plan));
            assertFalse(leader.productAlgorithms().orElseThrow().used().isEmpty());
            NativeEnvironment.with("ISOBAR_SIM_LT", offered, "", () -> {
                CompletableFuture<Map<?, String>> second = CompletableFuture.supplyAsync(() -> {
                    try (CudaDevice device = CudaFixture.device()) {
                        ProductSelection follower = new ProductSelection(other, device, log, Map.of());
                        follower.decide(plan);
                        follower.agree(messages.get(1));
                        return Map.copyOf(device.productAlgorithms().orElseThrow().used());
                    }
                });
                second.exceptionally(failure -> {
                    messages.get(1).report(ProductSelection.REPORT, failure.toString().getBytes(UTF_8), Urgency.URGENT);
                    return Map.of();
                });
                first.agree(messages.get(0));
                used.complete(List.of(leader.productAlgorithms().orElseThrow().used(), second.join()));
            });
            return used.join().stream().<Map<?, String>>map(Map::copyOf).toList();
        }
    }

    @Test
    void allRanksUseTheAlgorithmsOfTheFirst() {
        List<Map<?, String>> used = agreed("right split", new ByteArrayOutputStream());
        assertFalse(used.get(0).isEmpty());
        assertEquals(used.get(0), used.get(1));
    }

    @Test
    void ifARankCannotAllUseTheHeuristic() {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(List.of(Map.of(), Map.of()), agreed("right", screen));
        assertTrue(screen.toString().contains("Products: the algorithms that cuBLASLt 13.2.1 prefers after all: rank 1"
            + ": cublasLtMatmulAlgoCheck, product "), screen::toString);
    }

    @Tag("slow")
    @Test
    void replicasWithDifferentLibrariesHaveTheSameBits() throws Exception {
        byte[] split = weights("both", "split", "split");
        assertArrayEquals(split, weights("first", "slow split", "right split"));
        byte[] plain = weights("second", "slow split", "right");
        assertFalse(Arrays.equals(split, plain));
        assertArrayEquals(weights("neither", "right", "right"), plain);
    }

    private byte[] weights(String name, String... algorithms) throws Exception {
        Path directory = Files.createDirectory(logs.resolve(name));
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < algorithms.length; rank++) {
                job.start("org.isobar.cli.Main", rank, Map.of("WORLD_SIZE", String.valueOf(algorithms.length),
                    "ISOBAR_SIM_GPUS", String.valueOf(algorithms.length), "ISOBAR_SIM_LT", algorithms[rank],
                    "ISOBAR_CACHE", directory.toString()), "--device=cuda", "--set=num_iters=" + STEPS);
            }
            for (int rank = 0; rank < algorithms.length; rank++) {
                assertEquals(0, job.code(rank), job.screens());
            }
            return Files.readAllBytes(job.directory().resolve("model.safetensors"));
        }
    }
}
