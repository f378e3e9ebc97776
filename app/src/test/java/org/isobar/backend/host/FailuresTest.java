package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Failures of ranks: mismatched calls, lost and stopped ranks. Every survivor fails soon, with the cause. */
@Execution(ExecutionMode.CONCURRENT)
class FailuresTest {
    private static final Tensor TEN = HostTensors.of(DType.F32, 10, i -> i);

    @ParameterizedTest
    @EnumSource
    void anotherCollective(Ranks ranks) throws Exception {
        List<Exception> thrown = ranks.outcomes(3, Ranks.LONG, communicator -> {
            communicator.barrier().await();
            if (communicator.group().index() == 1) {
                communicator.broadcast(TEN, 0).await();
            } else {
                communicator.allReduce(TEN, Reduction.SUM).await();
            }
        });
        expect(thrown, "operation 1 (all-reduce of 10 F32)", "rank 1", "broadcast");
    }

    @ParameterizedTest
    @EnumSource
    void anotherSize(Ranks ranks) throws Exception {
        List<Exception> thrown = ranks.outcomes(3, Ranks.LONG, communicator ->
            communicator.allReduce(HostTensors.of(DType.F64, 10 + communicator.group().index() / 2, i -> i),
                Reduction.SUM).await());
        expect(thrown, "operation 0 (all-reduce of 10 F64)", "of 11 F64");
    }

    @ParameterizedTest
    @EnumSource
    void anotherTypeRootOrReduction(Ranks ranks) throws Exception {
        expect(ranks.outcomes(2, Ranks.LONG, communicator -> communicator.allReduce(HostTensors.of(
            communicator.group().index() == 0 ? DType.F32 : DType.F64, 10, i -> i), Reduction.SUM).await()),
            "F32", "F64");
        expect(ranks.outcomes(2, Ranks.LONG, communicator -> communicator.broadcast(TEN, communicator.group().index())
            .await()), "another root");
        expect(ranks.outcomes(2, Ranks.LONG, communicator -> communicator.allReduce(TEN,
            Reduction.SUM.times(1 + communicator.group().index())).await()), "another reduction");
    }

    @ParameterizedTest
    @EnumSource
    void aSendOfAnotherSize(Ranks ranks) throws Exception {
        expect(ranks.outcomes(2, Ranks.LONG, communicator -> {
            if (communicator.group().index() == 0) {
                communicator.send(TEN, 1).await();
                communicator.barrier().await();
            } else {
                communicator.receive(HostTensors.f32(0), 0).await();
            }
        }), "has issued operation 0 (send of 10 F32)");
    }

    @ParameterizedTest
    @EnumSource
    void afterAFailureEveryCallIsRefusedAtOnce(Ranks ranks) throws Exception {
        ranks.run(2, communicator -> {
            Tensor tensor = HostTensors.of(DType.F32, 5 + communicator.group().index(), i -> i);
            assertThrows(CommunicationException.class, () -> communicator.allReduce(tensor, Reduction.SUM).await());
            String message = assertThrows(CommunicationException.class, communicator::barrier).getMessage();
            assertTrue(message.contains("operation 1 (barrier): not begun, because"), message);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatLeaves(Ranks ranks) throws Exception {
        List<Exception> thrown = ranks.outcomes(4, Ranks.LONG, communicator -> {
            communicator.barrier().await();
            if (communicator.group().index() == 2) {
                throw new IllegalStateException("own failure");
            }
            communicator.allReduce(TEN, Reduction.SUM).await();
        });
        assertInstanceOf(IllegalStateException.class, thrown.set(2, null));
        expect(thrown, "operation 1 (all-reduce of 10 F32)", "rank 2");
    }

    @ParameterizedTest
    @EnumSource
    void aRankThatStopsCalling(Ranks ranks) throws Exception {
        CountDownLatch ended = new CountDownLatch(2);
        List<Exception> thrown = ranks.outcomes(3, Ranks.SHORT, communicator -> {
            if (communicator.group().index() == 1) {
                ended.await();
                return;
            }
            try {
                communicator.allReduce(TEN, Reduction.SUM).await();
            } finally {
                ended.countDown();
            }
        });
        expect(thrown, "operation 0 (all-reduce of 10 F32)", ranks == Ranks.THREADS
            ? "rank 1 did not issue the operation"
            : "has waited for 2 s");
    }

    @ParameterizedTest
    @EnumSource
    void aSendWithoutAReceive(Ranks ranks) throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        List<Exception> thrown = ranks.outcomes(2, Ranks.SHORT, communicator -> {
            if (communicator.group().index() == 1) {
                ended.await();
                return;
            }
            try {
                communicator.send(HostTensors.of(DType.F64, 2_000_000, i -> i), 1).await();
            } finally {
                ended.countDown();
            }
        });
        expect(thrown, "operation 0 (send of 2000000 F64)", "waited for");
    }

    /** The operation runs on the interrupted thread or on the communicator's. */
    @ParameterizedTest
    @EnumSource
    void anInterruptedRank(Ranks ranks) throws Exception {
        List<Exception> thrown = ranks.outcomes(2, Ranks.SHORT, communicator -> {
            if (communicator.group().index() == 0) {
                Thread.currentThread().interrupt();
            }
            communicator.receive(TEN, 1 - communicator.group().index()).await();
        });
        String message = thrown.get(0).getMessage();
        assertTrue(message.toLowerCase(Locale.ROOT).contains("interrupt"), message);
        expect(thrown, "operation 0 (receive of 10 F32)", "rank 0");
    }

    /** Both connections are intact, and neither rank reaches its time limit. */
    @Test
    void ranksThatWaitForEachOther() throws Exception {
        TimeLimits limits = new TimeLimits(Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(60));
        List<Exception> thrown = Ranks.SOCKETS.outcomes(2, limits, communicator ->
            communicator.receive(TEN, 1 - communicator.group().index()).await());
        expect(thrown, "wait for each other: rank 0, group dp [0, 1], operation 0 (receive of 10 F32); rank 1");
    }

    @Test
    void aLongComputationIsNoFailure() throws Exception {
        TimeLimits limits = new TimeLimits(Duration.ofSeconds(10), Duration.ofMillis(1500), Duration.ofSeconds(20));
        List<Exception> thrown = Ranks.SOCKETS.outcomes(2, limits, communicator -> {
            if (communicator.group().index() == 1) {
                Thread.sleep(2500);
            }
            communicator.barrier().await();
        });
        assertEquals(Arrays.asList(null, null), thrown);
    }

    @Test
    void aGroupOfOneNeedsNoTransport() {
        assertThrows(IllegalArgumentException.class, () -> InProcessCommunicator.open(
            new InProcessHub(Duration.ofSeconds(1)), new ProcessGroup("tp", List.of(3), 3)));
    }

    /** Checks that all ranks but those set to null have failed and name their rank and group; some name each word. */
    private static void expect(List<Exception> thrown, String... words) {
        assertTrue(thrown.stream().anyMatch(each -> each != null), "no rank has failed");
        for (int rank = 0; rank < thrown.size(); rank++) {
            if (thrown.get(rank) == null) {
                continue;
            }
            String message = assertInstanceOf(CommunicationException.class, thrown.get(rank)).getMessage();
            assertTrue(message.startsWith("rank " + rank + ", group dp ["), message);
            for (String word : words) {
                // The mismatched rank names its own call first, then that of its peer.
                assertTrue(thrown.stream().anyMatch(each -> each != null && each.getMessage().contains(word)),
                    () -> word + " in " + thrown);
            }
        }
    }
}
