package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.train.FaultInjectingRank.Fault;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Jobs of processes of which one fails: the others end soon, log the reason, and exit with an error. */
@Execution(ExecutionMode.CONCURRENT)
class RankFailureTest {
    private static final Duration LIMIT = Duration.ofSeconds(10); // the default of --comm_timeout
    private static final String ENDLESS = "--num_iters=1200000";

    @TempDir
    private static Path data;
    @TempDir
    private Path directory;

    /** Moments of a step, given by methods on the stack. */
    private enum Moment {
        FORWARD("train.Trainer.step vit.VisionTransformer.forward"),
        BACKWARD("train.Trainer.step vit.VisionTransformer.backward"),
        BUCKETS("train.Trainer.step distributed.GradientBuckets.await"),
        VALIDATION("train.Trainer.validate train.step.Evaluator.evaluate"),
        GRAPH("train.Trainer.step backend.cuda.driver.CudaGraph.launch"),
        GPU("train.Trainer.trainEpoch backend.cuda.driver.HostWait.until");

        private final StackPlace place;

        Moment(String methods) {
            place = StackPlace.of(methods);
        }
    }

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @ParameterizedTest
    @CsvSource({"KILL, 1, BACKWARD, 2, --tensor_parallel=1", "EXIT, 0, BUCKETS, 2, --tensor_parallel=1",
        "STOP, 1, FORWARD, 3, --context_parallel=3", "KILL, 0, VALIDATION, 2, --tensor_parallel=2"})
    void otherRanksEnd(Fault fault, int culprit, Moment moment, int processes, String layout) throws Exception {
        otherRanksEnd(fault, culprit, moment, processes, LIMIT, layout);
    }

    /** Ranks share a GPU. */
    @Tag("cuda")
    @ParameterizedTest
    @CsvSource({"KILL, 1, BACKWARD, 2, --tensor_parallel=2", "EXIT, 0, BUCKETS, 2, --tensor_parallel=1"})
    void otherRanksEndOnASharedGpu(Fault fault, int culprit, Moment moment, int processes, String layout)
        throws Exception {
        otherRanksEnd(fault, culprit, moment, processes, LIMIT, layout, "--device=cuda", "--comm_backend=host");
    }

    /** A stopped rank is detected as on the CPU. */
    @Tag("cuda")
    @Tag("slow")
    @Test
    void stoppedRankOnAGpuIsDetected() throws Exception {
        otherRanksEndOnASharedGpu(Fault.STOP, 2, Moment.FORWARD, 3, "--context_parallel=3");
    }

    /** Ranks have one GPU each. An NCCL operation, not the program, waits for the lost peer. */
    @Tag("simulated")
    @ParameterizedTest
    @CsvSource({"KILL, 0, GRAPH, --context_parallel=3 --enable_cuda_graphs",
        "STOP, 1, GPU, --context_parallel=3 --enable_cuda_graphs"})
    void otherRanksEndOverNccl(Fault fault, int culprit, Moment moment, String options) throws Exception {
        otherRanksEnd(fault, culprit, moment, Map.of("WORLD_SIZE", "3", "ISOBAR_SIM_GPUS", "3"), LIMIT,
            Stream.concat(Stream.of("--device=cuda"), Stream.of(options.split(" "))).toArray(String[]::new));
    }

    /** Without CUDA graphs. */
    @Tag("simulated")
    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"KILL, 1, BACKWARD", "STOP, 2, GPU"})
    void otherRanksEndWithoutGraphs(Fault fault, int culprit, Moment moment) throws Exception {
        otherRanksEndOverNccl(fault, culprit, moment, "--context_parallel=3");
    }

    private void otherRanksEnd(Fault fault, int culprit, Moment moment, int processes, Duration limit,
        String... options) throws Exception {
        otherRanksEnd(fault, culprit, moment, Map.of("WORLD_SIZE", String.valueOf(processes)), limit, options);
    }

    private void otherRanksEnd(Fault fault, int culprit, Moment moment, Map<String, String> environment, Duration limit,
        String... options) throws Exception {
        int processes = Integer.parseInt(environment.get("WORLD_SIZE"));
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < processes; rank++) {
                Map<String, String> variables = new HashMap<>(environment);
                if (rank == culprit) {
                    variables.putAll(Map.of("FAULT", fault.name(), "FAULT_AT", moment.place.toString()));
                }
                job.start(FaultInjectingRank.class.getName(), rank, variables,
                    Stream.concat(Stream.of(ENDLESS), Stream.of(options)).toArray(String[]::new));
            }
            job.awaitShown(culprit, FaultInjectingRank.ANNOUNCEMENT);
            long start = System.nanoTime();
            for (int rank = 0; rank < processes; rank++) {
                if (rank != culprit) {
                    assertEquals(1, job.code(rank, limit.minusNanos(System.nanoTime() - start)), job.screens());
                    String shown = job.shown(rank);
                    assertTrue(shown.contains("ERROR - rank " + rank + ", group "), job.screens());
                    // The collectives of a graph have no operation number.
                    String operation = List.of(options).contains("--enable_cuda_graphs") ? "" : ", operation \\d+ \\(";
                    assertTrue(Pattern.compile("group \\S+ \\[[0-9, ]+]" + operation).matcher(shown).find(),
                        job.screens());
                    assertTrue(shown.contains("rank " + culprit + (fault == Fault.STOP ? " sends no heartbeat"
                        : " has died")), job.screens());
                }
            }
            if (fault == Fault.STOP) {
                job.resume(culprit); // it detects that the others have exited
            }
            assertNotEquals(0, job.code(culprit, LIMIT), job.screens());
        }
    }

    static Stream<Arguments> everything() {
        return Arrays.stream(Fault.values()).flatMap(fault -> Stream.of(Moment.FORWARD, Moment.BACKWARD,
            Moment.BUCKETS, Moment.VALIDATION).flatMap(moment -> IntStream.range(0, 2).mapToObj(culprit ->
            Arguments.of(fault, culprit, moment, 2,
                "--tensor_parallel=" + (culprit == 1 && moment != Moment.BUCKETS ? 2 : 1)))));
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("everything")
    void theOthersEndWhateverHappens(Fault fault, int culprit, Moment moment, int processes, String layout)
        throws Exception {
        otherRanksEnd(fault, culprit, moment, processes, layout);
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"KILL, 3, BACKWARD", "STOP, 0, BUCKETS", "STOP, 2, VALIDATION", "EXIT, 1, FORWARD"})
    void otherRanksOfFourEnd(Fault fault, int culprit, Moment moment) throws Exception {
        otherRanksEnd(fault, culprit, moment, 4, "--tensor_parallel=2");
    }

    /** By default a rank is suspected after 7 s of silence, and all ranks end within 3 more seconds. */
    @Tag("slow")
    @Test
    void shorterLimitIsKept() throws Exception {
        otherRanksEnd(Fault.STOP, 1, Moment.BACKWARD, 2, Duration.ofSeconds(6), "--comm_timeout=4");
    }

    /** NaN in the data of one replica: all ranks log step, sample and position, and end. */
    @Test
    void badSampleEndsAllReplicas() throws Exception {
        Path spoilt = directory.resolve("spoilt");
        TinyRun.synthesize(spoilt);
        InputDamage.setValue(spoilt.resolve("tiny/train/1979.h5"), 5, 1, 3, 7, Float.NaN);
        try (ProcessJob job = new ProcessJob(spoilt, directory)) {
            job.start(0, 2, ENDLESS);
            job.start(1, 2, ENDLESS);
            List<Integer> codes = List.of(job.code(0), job.code(1));
            assertEquals(List.of(2, 2), codes, job.screens());
            List<String> shown = List.of(job.shown(0), job.shown(1));
            for (String screen : shown) {
                assertTrue(screen.contains("the data are not finite") && screen.contains("1979.h5, time step 5, "
                    + "channel 1 (v10), row 3, column 7"), job.screens());
            }
            assertEquals(1, shown.stream().map(RankFailureTest::nonFiniteLoss).distinct().count(), job.screens());
        }
    }

    private static String nonFiniteLoss(String screen) {
        Matcher found = Pattern.compile("the loss is NaN at step \\d+, sample \\d+: ").matcher(screen);
        assertTrue(found.find(), screen);
        return found.group();
    }

    @Test
    void differentConfigurationIsNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 3, "--context_parallel=3");
            job.start(1, 3, "--context_parallel=3", "--set=lr=2.0e-3");
            job.start(2, 3, "--context_parallel=3");
            refused(job, 3, "lr: 0.001 at ranks 0, 2, 0.002 at rank 1");
        }
    }

    /** With device auto, each rank chooses from its own devices. */
    @Tag("simulated")
    @Test
    void differentDevicesAreNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            String main = "org.isobar.cli.Main";
            String[] options = {"--device=auto", "--comm_backend=host"};
            job.start(main, 0, Map.of("WORLD_SIZE", "2"), options);
            job.start(main, 1, Map.of("WORLD_SIZE", "2", "CUDA_VISIBLE_DEVICES", ""), options);
            refused(job, 2, "device type: CPU at rank 1, GPU at rank 0");
        }
    }

    /** Without processes, {@code RendezvousTest} has this case and the slow ones below. */
    @Tag("slow")
    @Test
    void wrongWorldSizeIsNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 2, "--set=global_batch_size=6");
            job.start(1, 3, "--set=global_batch_size=6");
            refused(job, 2, "rank 1 was started with WORLD_SIZE=3, rank 0 with 2");
        }
    }

    @Tag("slow")
    @Test
    void twoRanksWithTheSameNumberAreNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 3, "--context_parallel=3");
            job.start(1, 3, "--context_parallel=3");
            job.start(1, 3, "--context_parallel=3");
            refused(job, 3, "two processes claim rank 1");
        }
    }

    @Test
    void portInUseIsNamed() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            ProcessJob job = new ProcessJob(data, directory, taken.getLocalPort())) {
            job.start(0, 2, "--start_timeout=1");
            job.start(1, 2, "--start_timeout=1");
            refused(job, 1, "port " + taken.getLocalPort() + " of 127.0.0.1 is in use");
            assertEquals(2, job.code(1), job.screens());
            assertTrue(job.shown(1).contains("rank 1 cannot reach rank 0 at 127.0.0.1:"), job.screens());
        }
    }

    /** 192.0.2.1 is reserved for documentation (RFC 5737). */
    @Tag("slow")
    @Test
    void unreachableAddressIsNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            Map<String, String> nowhere = Map.of("WORLD_SIZE", "2", "MASTER_ADDR", "192.0.2.1");
            job.start("org.isobar.cli.Main", 0, nowhere, "--start_timeout=1");
            job.start("org.isobar.cli.Main", 1, nowhere, "--start_timeout=1");
            refused(job, 1, "MASTER_ADDR=192.0.2.1 is not an address of the machine of rank 0");
            assertEquals(2, job.code(1), job.screens());
            assertTrue(job.shown(1).contains("rank 1 cannot reach rank 0 at 192.0.2.1:"), job.screens());
        }
    }

    @Tag("slow")
    @Test
    void missingRankIsNamed() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 3, "--context_parallel=3", "--start_timeout=1");
            refused(job, 1, "of 3 ranks these did not connect within 1 s: ranks 1, 2");
        }
    }

    private static void refused(ProcessJob job, int processes, String reason)
        throws InterruptedException {
        for (int index = 0; index < processes; index++) {
            assertEquals(2, job.code(index), job.screens());
            assertTrue(job.shown(index).contains(reason), job.screens());
        }
    }
}
