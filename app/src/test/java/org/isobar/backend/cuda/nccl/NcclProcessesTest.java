package org.isobar.backend.cuda.nccl;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

import org.isobar.backend.host.RankProcesses;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks with a simulated GPU each, in processes of their own, connected by NCCL. */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class NcclProcessesTest {
    /** Two scenarios that wait most of their time. They run beside the other tests. */
    private static RankProcesses patient;
    private static RankProcesses kept;

    @TempDir
    private Path directory;

    @BeforeAll
    static void begin(@TempDir Path one, @TempDir Path other) throws Exception {
        patient = start(one, NcclJobs.SLOW, 2, 2);
        kept = start(other, NcclJobs.KEPT_GRAPH, 2, 2);
        patient.awaitUnderWay();
        kept.awaitUnderWay();
    }

    @AfterAll
    static void end() {
        Stream.of(patient, kept).filter(Objects::nonNull).forEach(RankProcesses::close);
    }

    @Test
    void whatCollectivesCompute() throws Exception {
        all(NcclJobs.COLLECTIVES, 4);
    }

    /** With three ranks, 1/3 is not a power of two, and each rank has two neighbours. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void capturedCollectives(int count) throws Exception {
        all(NcclJobs.GRAPH, count);
    }

    @Test
    void severalCommunicatorsOfARank() throws Exception {
        all(NcclJobs.GRID, 4);
    }

    @Test
    void aLongComputationIsNoFailure() throws Exception {
        expectAllToEnd(patient);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aKilledProcessEndsTheOthers(int killed) throws Exception {
        try (RankProcesses ranks = start(NcclJobs.FOREVER, 3, 3)) {
            ranks.awaitUnderWay();
            ranks.kill(killed);
            expectSurvivors(ranks, killed, "rank " + killed + " has died");
        }
    }

    @Test
    void aStoppedProcessEndsTheOthers() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.FOREVER, 3, 3)) {
            ranks.awaitUnderWay();
            ranks.stop(1);
            expectSurvivors(ranks, 1, "rank 1 sends no heartbeat");
        }
    }

    /** NCCL ends an aborted communicator only when the graphs with its operations are freed. */
    @Test
    void aKilledProcessEndsGraphLaunches() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.LAUNCH_FOREVER, 2, 2)) {
            ranks.awaitUnderWay();
            ranks.kill(1);
            ranks.expect(0, 3, "rank 0, group dp [0, 1]", "rank 1 has died");
        }
    }

    /** Closing a communicator that cannot end gives up after a while. */
    @Test
    void aGraphThatOutlivesItsCommunicator() throws Exception {
        expectAllToEnd(kept);
    }

    private static void expectSurvivors(RankProcesses ranks, int lost, String reason) throws Exception {
        for (int rank = 0; rank < ranks.count(); rank++) {
            if (rank != lost) {
                ranks.expect(rank, 3, "rank " + rank + ", group dp [0, 1, 2]", reason);
            }
        }
    }

    @Test
    void anotherCollective() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.MISMATCH, 3, 3)) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.expect(rank, 3, "rank " + rank, "group dp [0, 1, 2], operation 1 (", "all-reduce of 10 F32",
                    "broadcast of 10 F32", "has issued operation 1");
            }
        }
    }

    @Test
    void aRankThatIssuesFewer() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.FEWER, 2, 2)) {
            ranks.expect(0, 3, "rank 0, group dp [0, 1], operation 1 (all-reduce of 10 F32)",
                "the connection from rank 1 is broken");
        }
    }

    @Test
    void ranksThatWaitForEachOther() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.CROSSED, 2, 2)) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.expect(rank, 3, "all ranks wait for each other: rank 0, group tp [0, 1], operation 0 (all-reduce "
                    + "of 10 F32); rank 1, group dp [0, 1], operation 0 (all-reduce of 10 F32)");
            }
        }
    }

    @Test
    void ranksThatShareAGpu() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.COLLECTIVES, 3, 2)) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.expect(rank, 2, "ranks 0 and 2 of group dp [0, 1, 2] share GPU-",
                    "start one process for each GPU, or use --comm_backend=host");
            }
        }
    }

    @Test
    void aRankThatIsLostWhileNcclConnects() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.LOST_AT_START, 2, 2)) {
            ranks.expect(0, 3, "rank 0, group dp [0, 1]", "rank 1 has died");
        }
    }

    /** The planted bug. The other scenarios show that correct programs are not reported. */
    @Test
    void aMissingEventIsFound() throws Exception {
        try (RankProcesses ranks = start(NcclJobs.NO_EVENT, 2, 2)) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.end(rank);
                assertTrue(ranks.log(rank).lines().anyMatch(line -> line.startsWith("cuda-sim: ")
                    && line.contains("missing event between") && line.contains("all-reduce of 1000 float32")
                    && line.contains("fill")), ranks.log(rank));
            }
        }
    }

    private void all(NcclJobs scenario, int count) throws Exception {
        try (RankProcesses ranks = start(scenario, count, count)) {
            expectAllToEnd(ranks);
        }
    }

    private static void expectAllToEnd(RankProcesses ranks) throws Exception {
        for (int rank = 0; rank < ranks.count(); rank++) {
            ranks.expect(rank, 0, "done");
            assertFalse(ranks.log(rank).contains("cuda-sim: "), ranks.log(rank));
        }
    }

    private RankProcesses start(NcclJobs scenario, int count, int gpus) throws IOException {
        return start(directory, scenario, count, gpus);
    }

    private static RankProcesses start(Path directory, NcclJobs scenario, int count, int gpus) throws IOException {
        return new RankProcesses(NcclRank.class, count, directory, Map.of("ISOBAR_SIM_GPUS", String.valueOf(gpus)),
            scenario.name());
    }
}
