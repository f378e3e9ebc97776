package org.isobar.backend.cuda.staged;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

import org.isobar.backend.host.Ranks;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Collectives of GPU tensors through host memory. All numbers are small integers, exact in every type. */
@Tag("cuda")
class StagedCommunicatorTest {
    private static final int COUNT = 3;
    private static final int MANY = 70_001; // more than the staging buffer holds at first

    @ParameterizedTest
    @EnumSource
    void allReduce(DType dtype) throws Exception {
        StagedRanks.run(COUNT, rank -> {
            for (int elements : new int[] {5, MANY, 7}) {
                Tensor sum = rank.tensor(dtype, elements, i -> i % 50 + rank.index());
                Tensor max = rank.tensor(dtype, elements, i -> i % 2 == 0 ? rank.index() : -rank.index());
                Tensor scaled = rank.tensor(dtype, elements, i -> rank.index() == 0 ? 8 : 0);
                rank.communicator().allReduce(sum, Reduction.SUM);
                rank.communicator().allReduce(max, Reduction.MAX);
                rank.communicator().allReduce(scaled, Reduction.AVERAGE.times(COUNT)).await();
                assertArrayEquals(expected(elements, i -> COUNT * (i % 50) + 3), rank.values(sum));
                assertArrayEquals(expected(elements, i -> i % 2 == 0 ? COUNT - 1 : 0), rank.values(max));
                assertArrayEquals(expected(elements, i -> 8), rank.values(scaled));
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    void unevenAllGather(DType dtype) throws Exception {
        long[] sizes = {40, 0, 33};
        StagedRanks.run(COUNT, rank -> {
            long start = LongStream.of(sizes).limit(rank.index()).sum();
            long size = sizes[rank.index()];
            Tensor own = rank.tensor(dtype, Math.max(1, size), i -> start + i);
            Tensor apart = rank.tensor(dtype, 73, i -> -1);
            rank.communicator().allGather(apart, own, sizes).await();
            assertArrayEquals(expected(73, i -> i), rank.values(apart));

            Tensor whole = rank.tensor(dtype, 73, i -> i < start || i >= start + size ? -1 : i);
            rank.communicator().allGather(whole, size == 0 ? own : whole.slice(start, size), sizes).await();
            assertArrayEquals(expected(73, i -> i), rank.values(whole));
        });
    }

    @ParameterizedTest
    @EnumSource
    void unevenReduceScatterLeavesItsInput(DType dtype) throws Exception {
        long[] sizes = {40, 0, 33};
        StagedRanks.run(COUNT, rank -> {
            long start = LongStream.of(sizes).limit(rank.index()).sum();
            Tensor in = rank.tensor(dtype, 73, i -> i + rank.index());
            Tensor out = rank.tensor(dtype, Math.max(1, sizes[rank.index()]), i -> -1);
            rank.communicator().reduceScatter(out, in, Reduction.AVERAGE, sizes).await();
            assertArrayEquals(rank.index() == 1 ? new double[] {-1}
                : expected((int) sizes[rank.index()], i -> start + i + 1), rank.values(out));
            assertArrayEquals(expected(73, i -> i + rank.index()), rank.values(in));

            Tensor place = rank.tensor(dtype, 30, i -> i);
            Tensor own = place.slice(10L * rank.index(), 10);
            rank.communicator().reduceScatter(own, place, Reduction.SUM).await();
            assertArrayEquals(expected(10, i -> COUNT * (10.0 * rank.index() + i)), rank.values(own));
        });
    }

    @ParameterizedTest
    @EnumSource
    void broadcastFromEveryRoot(DType dtype) throws Exception {
        StagedRanks.run(COUNT, rank -> {
            for (int root = 0; root < COUNT; root++) {
                int from = root;
                Tensor tensor = rank.tensor(dtype, 99, i -> rank.index() == from ? i + from : -1);
                rank.communicator().broadcast(tensor, root).await();
                assertArrayEquals(expected(99, i -> i + from), rank.values(tensor));
            }
        });
    }

    /** All ranks send before any receives, and more than sockets buffer. This must not block. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void neighboursExchangeLargeTensors(DType dtype) throws Exception {
        StagedRanks.run(COUNT, rank -> {
            Tensor own = rank.tensor(dtype, 2_000_000, i -> rank.index());
            Tensor theirs = rank.tensor(dtype, 2_000_000, i -> -1);
            int previous = (rank.index() + COUNT - 1) % COUNT;
            Work sent = rank.communicator().send(own, (rank.index() + 1) % COUNT);
            rank.communicator().receive(theirs, previous).await();
            sent.await();
            assertArrayEquals(expected(2_000_000, i -> previous), rank.values(theirs));

            rank.communicator().together(() -> {
                rank.communicator().receive(own.slice(0, 10), (rank.index() + 1) % COUNT); // before any rank sends
                rank.communicator().send(theirs.slice(0, 10), previous);
            }).await();
            assertArrayEquals(expected(10, i -> rank.index()), rank.values(own.slice(0, 10)));
        });
    }

    /** 256 + 1 is 256 in bfloat16, 2048 + 1 is 2048 in binary16. */
    @Test
    void sumsOfHalfPrecisionAreRoundedOnce() throws Exception {
        StagedRanks.run(COUNT, rank -> {
            Tensor brain = rank.tensor(DType.BF16, 3, i -> rank.index() == i ? 256 : 1);
            Tensor half = rank.tensor(DType.F16, 3, i -> rank.index() == i ? 2048 : 1);
            rank.communicator().allReduce(brain, Reduction.SUM).await();
            rank.communicator().allReduce(half, Reduction.SUM).await();
            assertArrayEquals(expected(3, i -> 258), rank.values(brain));
            assertArrayEquals(expected(3, i -> 2050), rank.values(half));
        });
    }

    @Test
    void collectivesComeAfterEarlierOperationsAndBeforeLaterOnes() throws Exception {
        StagedRanks.run(COUNT, rank -> {
            Tensor x = rank.tensor(DType.F32, MANY, i -> i + 1);
            Tensor y = rank.arena().f32(MANY);
            List<Work> works = new ArrayList<>();
            for (int round = 0; round < 5; round++) {
                rank.device().ops().memory().copy(y, x);
                works.add(rank.communicator().allReduce(y, Reduction.AVERAGE.times(2)));
                works.getLast().await();
                rank.device().ops().memory().copy(x, y);
            }
            assertTrue(works.stream().allMatch(Work::done));
            assertArrayEquals(expected(MANY, i -> 32 * (i + 1)), rank.values(x));
        });
    }

    @Test
    void operationsRunInTheOrderOfTheirIssue() throws Exception {
        StagedRanks.run(COUNT, rank -> {
            Tensor tensor = rank.tensor(DType.F32, 100, i -> 1);
            for (int i = 0; i < 9; i++) {
                rank.communicator().allReduce(tensor, Reduction.AVERAGE.times(2));
            }
            rank.communicator().barrier().await();
            assertArrayEquals(expected(100, i -> 512), rank.values(tensor));
        });
    }

    @Test
    void whatMakesNoSenseIsRefusedAtOnce() throws Exception {
        StagedRanks.run(COUNT, rank -> {
            Tensor tensor = rank.tensor(DType.BF16, 3, i -> i);
            refused(() -> rank.communicator().allGather(tensor, tensor, 1, 1));
            refused(() -> rank.communicator().reduceScatter(tensor, tensor, Reduction.SUM, 1, 1, 1));
            refused(() -> rank.communicator().broadcast(tensor, COUNT));
            refused(() -> rank.communicator().send(tensor, rank.index()));
            rank.communicator().barrier().await();
        });
    }

    @Test
    void anotherSizeEndsAll() throws Exception {
        List<Exception> thrown = StagedRanks.outcomes(COUNT, Ranks.LONG, rank -> {
            Tensor tensor = rank.tensor(DType.F32, 10 + rank.index() / 2, i -> i);
            rank.communicator().allReduce(tensor, Reduction.SUM).await();
        });
        expect(thrown, "operation 0 (all-reduce of 10 F32)", "of 11 F32");
    }

    /** Of the remaining ranks, one waits for the collective and one for the GPU. */
    @Test
    void aRankThatLeavesEndsTheOthers() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        List<Exception> thrown = StagedRanks.outcomes(COUNT, Ranks.LONG, rank -> {
            Tensor tensor = rank.tensor(DType.F32, 10, i -> i);
            rank.communicator().barrier().await();
            if (rank.index() == 2) {
                left.countDown();
                throw new IllegalStateException("own failure");
            }
            left.await();
            Work work = rank.communicator().allReduce(tensor, Reduction.SUM);
            if (rank.index() == 0) {
                work.await();
            }
            while (true) {
                rank.values(tensor.slice(0, 1));
            }
        });
        assertInstanceOf(IllegalStateException.class, thrown.set(2, null));
        expect(thrown, "group dp [0, 1, 2]", "rank 2");
    }

    /** No other rank issues the collectives of this one. */
    @Test
    void closingEndsWhatIsUnderWay() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        StagedRanks.run(2, rank -> {
            if (rank.index() == 0) {
                Tensor tensor = rank.tensor(DType.BF16, 10, i -> i);
                Work first = rank.communicator().allReduce(tensor, Reduction.SUM);
                Work second = rank.communicator().receive(tensor, 1);
                rank.communicator().close();
                for (Work work : List.of(first, second)) {
                    String message = assertThrows(CommunicationException.class, work::await).getMessage();
                    assertTrue(message.contains("was closed"), message);
                }
                assertThrows(CommunicationException.class, () -> rank.communicator().barrier());
                closed.countDown();
            }
            closed.await();
        });
    }

    /** Each rank except those that failed otherwise has thrown a message with these texts. */
    private static void expect(List<Exception> thrown, String... texts) {
        for (Exception each : thrown) {
            if (each != null) {
                assertInstanceOf(CommunicationException.class, each);
                assertTrue(Arrays.stream(texts).allMatch(each.getMessage()::contains), each.getMessage());
            }
        }
        assertTrue(thrown.stream().filter(each -> each != null).count() >= 2, thrown::toString);
    }

    private static void refused(Runnable call) {
        assertThrows(IllegalArgumentException.class, call::run);
    }

    private static double[] expected(int elements, LongToDoubleFunction value) {
        return IntStream.range(0, elements).mapToDouble(value::applyAsDouble).toArray();
    }
}
