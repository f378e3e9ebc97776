package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.LongToDoubleFunction;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.StagedRanks.Rank;
import org.isobar.device.Recording;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** What collectives over NCCL compute: numbers that are exact in every type. */
final class NcclCollectives {
    private NcclCollectives() { }

    /** Each operation in each type. */
    static void check(Rank rank) {
        for (DType dtype : DType.values()) {
            allReduce(rank, dtype);
            allGather(rank, dtype);
            reduceScatter(rank, dtype);
            broadcast(rank, dtype);
            exchange(rank, dtype);
            together(rank, dtype);
        }
        order(rank);
        maximumIsNotScaled(rank);
        rank.communicator().barrier().await();
    }

    private static void allReduce(Rank rank, DType dtype) {
        int ranks = rank.communicator().group().size();
        for (int elements : new int[] {1, 1003}) {
            Tensor sum = rank.tensor(dtype, elements, i -> i % 8 + rank.index());
            Tensor mean = rank.tensor(dtype, elements, i -> i % 8 + 2.0 * rank.index());
            Tensor scaled = rank.tensor(dtype, elements, i -> rank.index() == 0 ? 8 : 0);
            Tensor max = rank.tensor(dtype, elements, i -> i % 2 == 0 ? rank.index() : -rank.index());
            rank.communicator().allReduce(sum, Reduction.SUM).await();
            rank.communicator().allReduce(mean, Reduction.AVERAGE).await();
            rank.communicator().allReduce(scaled, Reduction.SUM.times(0.25)).await();
            rank.communicator().allReduce(max, Reduction.MAX).await();
            expect(rank, sum, i -> ranks * (i % 8) + ranks * (ranks - 1) / 2.0);
            expect(rank, mean, i -> i % 8 + ranks - 1);
            expect(rank, scaled, i -> 2);
            expect(rank, max, i -> i % 2 == 0 ? ranks - 1 : 0);
        }
    }

    /** Of different sizes, and of none; into its own place, and from elsewhere. */
    private static void allGather(Rank rank, DType dtype) {
        Communicator communicator = rank.communicator();
        int ranks = communicator.group().size();
        for (long[] sizes : new long[][] {sizes(ranks, i -> 50), sizes(ranks, i -> i == 1 ? 0 : 50 + i)}) {
            long total = Arrays.stream(sizes).sum();
            long start = Arrays.stream(sizes).limit(rank.index()).sum();
            long size = sizes[rank.index()];
            Tensor own = rank.tensor(dtype, Math.max(1, size), i -> (start + i) % 100);
            Tensor apart = rank.tensor(dtype, total, i -> -1);
            communicator.allGather(apart, own, sizes).await();
            expect(rank, apart, i -> i % 100);
            Tensor whole = rank.tensor(dtype, total, i -> i < start || i >= start + size ? -1 : i % 100);
            communicator.allGather(whole, size == 0 ? whole : whole.slice(start, size), sizes).await();
            expect(rank, whole, i -> i % 100);
        }
    }

    private static void reduceScatter(Rank rank, DType dtype) {
        Communicator communicator = rank.communicator();
        int ranks = communicator.group().size();
        for (long[] sizes : new long[][] {sizes(ranks, i -> 50), sizes(ranks, i -> i == 1 ? 0 : 50 + i)}) {
            long total = Arrays.stream(sizes).sum();
            long start = Arrays.stream(sizes).limit(rank.index()).sum();
            long size = sizes[rank.index()];
            Tensor in = rank.tensor(dtype, total, i -> i % 16 + rank.index());
            Tensor out = rank.tensor(dtype, Math.max(1, size), i -> -1);
            communicator.reduceScatter(out, in, Reduction.SUM, sizes).await();
            LongToDoubleFunction sum = i -> ranks * ((start + i) % 16) + ranks * (ranks - 1) / 2.0;
            expect(rank, out, size == 0 ? i -> -1 : sum);
            expect(rank, in, i -> i % 16 + rank.index());
            if (size > 0) {
                communicator.reduceScatter(in.slice(start, size), in, Reduction.SUM, sizes).await();
                expect(rank, in.slice(start, size), sum);
            } else {
                communicator.reduceScatter(in, in, Reduction.SUM, sizes).await();
            }
        }
    }

    private static void broadcast(Rank rank, DType dtype) {
        for (int root = 0; root < rank.communicator().group().size(); root++) {
            int from = root;
            Tensor tensor = rank.tensor(dtype, 777, i -> rank.index() == from ? i % 64 + from : -1);
            rank.communicator().broadcast(tensor, root).await();
            expect(rank, tensor, i -> i % 64 + from);
        }
    }

    /** Each sends to the next, and receives before it sends. */
    private static void exchange(Rank rank, DType dtype) {
        int ranks = rank.communicator().group().size();
        int previous = (rank.index() + ranks - 1) % ranks;
        Tensor own = rank.tensor(dtype, 500, i -> i % 32 + rank.index());
        Tensor theirs = rank.tensor(dtype, 500, i -> -1);
        rank.communicator().together(() -> {
            rank.communicator().receive(theirs, previous);
            rank.communicator().send(own, (rank.index() + 1) % ranks);
        }).await();
        expect(rank, theirs, i -> i % 32 + previous);
    }

    private static void together(Rank rank, DType dtype) {
        int ranks = rank.communicator().group().size();
        Tensor sum = rank.tensor(dtype, 100, i -> 1);
        Tensor whole = rank.tensor(dtype, 3L * ranks, i -> i / 3 == rank.index() ? i : -1);
        Work work = rank.communicator().together(() -> {
            rank.communicator().allReduce(sum, Reduction.SUM);
            rank.communicator().allGather(whole, whole.slice(3L * rank.index(), 3));
        });
        work.await();
        expect(rank, sum, i -> ranks);
        expect(rank, whole, i -> i);
        assertTrue(work.done());
    }

    /** What is computed after a collective is awaited sees its result, and it sees what was computed before. */
    private static void order(Rank rank) {
        int ranks = rank.communicator().group().size();
        Tensor x = rank.tensor(DType.F32, 100, i -> 0);
        Tensor y = rank.tensor(DType.F32, 100, i -> 0);
        for (int round = 1; round <= 30; round++) {
            rank.device().ops().fill(x, round);
            rank.communicator().allReduce(x, Reduction.SUM).await();
            rank.device().ops().copy(y, x);
        }
        expect(rank, y, i -> 30 * ranks);
    }

    private static void maximumIsNotScaled(Rank rank) {
        Tensor x = rank.tensor(DType.F32, 4, i -> 0);
        assertThrows(IllegalArgumentException.class, () -> rank.communicator().allReduce(x, Reduction.MAX.times(2)));
    }

    /** A graph that holds several collectives, played back twice; between others that are not recorded. */
    static void replay(Rank rank) {
        Communicator communicator = rank.communicator();
        int ranks = communicator.group().size();
        Tensor x = rank.tensor(DType.F32, 100, i -> 1);
        Tensor gathered = rank.tensor(DType.F32, 100L * ranks, i -> 0);
        communicator.allReduce(x, Reduction.AVERAGE).await(); // connects the ranks
        expect(rank, x, i -> 1);
        try (Recording recording = rank.device().record(() -> {
            Work first = communicator.allReduce(x, Reduction.SUM);
            first.await();
            communicator.together(() -> communicator.allGather(gathered, x)).await();
            communicator.allReduce(x, Reduction.SUM.times(1)).await();
            assertThrows(IllegalStateException.class, communicator::barrier);
        })) {
            expect(rank, x, i -> 1); // nothing has run yet
            recording.replay();
            communicator.allReduce(x, Reduction.AVERAGE).await();
            recording.replay();
            expect(rank, gathered, i -> Math.pow(ranks, 3));
            expect(rank, x, i -> Math.pow(ranks, 4));
        }
    }

    private static long[] sizes(int ranks, LongToDoubleFunction size) {
        return IntStream.range(0, ranks).mapToLong(i -> (long) size.applyAsDouble(i)).toArray();
    }

    private static void expect(Rank rank, Tensor tensor, LongToDoubleFunction value) {
        double[] values = rank.values(tensor);
        assertArrayEquals(IntStream.range(0, values.length).mapToDouble(value::applyAsDouble).toArray(), values,
            tensor.dtype() + " at rank " + rank.index());
    }
}
