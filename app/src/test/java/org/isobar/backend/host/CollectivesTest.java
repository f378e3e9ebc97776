package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongToDoubleFunction;
import java.util.stream.IntStream;

import org.isobar.distributed.Reduction;
import org.isobar.distributed.SequenceSplit;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Results of collectives between threads and over sockets, for several numbers of ranks. */
class CollectivesTest {
    /** More than a window of chunks for each of three ranks; not a multiple of any chunk or vector size. */
    private static final int MANY = 2_000_003;

    static List<Arguments> layouts() {
        List<Arguments> layouts = new ArrayList<>();
        for (Ranks ranks : Ranks.values()) {
            for (int count : new int[] {2, 3, 4, 8}) {
                layouts.add(Arguments.of(ranks, count));
            }
        }
        return layouts;
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void allReduce(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            for (DType dtype : List.of(DType.F32, DType.F64)) {
                for (int elements : new int[] {1, 5, 1000}) {
                    Tensor sum = HostTensors.of(dtype, elements, i -> i + index);
                    communicator.allReduce(sum, Reduction.SUM).await();
                    assertArrayEquals(expected(elements, i -> count * i + count * (count - 1) / 2.0),
                        HostTensors.values(sum));

                    Tensor max = HostTensors.of(dtype, elements, i -> i % 2 == 0 ? index : -index);
                    communicator.allReduce(max, Reduction.MAX).await();
                    assertArrayEquals(expected(elements, i -> i % 2 == 0 ? count - 1 : 0), HostTensors.values(max));

                    Tensor scaled = HostTensors.of(dtype, elements, i -> index == 0 ? 8 : 0);
                    communicator.allReduce(scaled, Reduction.AVERAGE.times(count)).await();
                    assertArrayEquals(expected(elements, i -> 8), HostTensors.values(scaled));
                }
            }
        });
    }

    /** Groups of more than 16 ranks halve: both transports give all ranks the same bits, near the exact sums. */
    @ParameterizedTest
    @ValueSource(ints = {17, 24})
    void largeGroupsAllReduceWithTheSameBits(int count) throws Exception {
        Set<List<Double>> results = ConcurrentHashMap.newKeySet();
        for (Ranks ranks : Ranks.values()) {
            ranks.run(count, communicator -> {
                int index = communicator.group().index();
                List<Double> all = new ArrayList<>();
                for (int elements : new int[] {1, 3, count + 1, 10_000}) {
                    Tensor sum = HostTensors.of(DType.F32, elements, i -> value(index, i));
                    communicator.allReduce(sum, Reduction.AVERAGE).await();
                    assertArrayEquals(expected(elements, i -> IntStream.range(0, count)
                        .mapToDouble(rank -> value(rank, i)).sum() / count), HostTensors.values(sum), 1e-6);
                    Arrays.stream(HostTensors.values(sum)).forEach(all::add);
                }
                Tensor max = HostTensors.of(DType.F64, 1, i -> index == count - 1 ? Double.NaN : index);
                communicator.barrier().await();
                communicator.allReduce(max, Reduction.MAX).await();
                all.add(HostTensors.values(max)[0]);
                results.add(all);
            });
        }
        assertEquals(1, results.size());
        assertEquals(Double.NaN, results.iterator().next().getLast());
    }

    private static double value(int rank, long element) {
        return Math.sin(1 + rank + 0.1 * element);
    }

    /** Sums of BF16 are rounded to nearest, ties to even: 1 + 3 2^-8 to 1 + 2 2^-7, 1 + 2^-8 to 1. */
    @ParameterizedTest
    @EnumSource
    void sumsOfBf16AreRounded(Ranks ranks) throws Exception {
        ranks.run(2, communicator -> {
            int index = communicator.group().index();
            Tensor sum = HostTensors.of(DType.BF16, 3, i -> index == 0 ? 1 : new double[] {0x3p-8, 0x1p-8, 2}[(int) i]);
            communicator.allReduce(sum, Reduction.SUM).await();
            assertArrayEquals(new double[] {1 + 0x2p-7, 1, 3}, HostTensors.values(sum));
            communicator.allReduce(sum, Reduction.MAX).await();
            assertArrayEquals(new double[] {1 + 0x2p-7, 1, 3}, HostTensors.values(sum));
        });
    }

    /** F16 exists only on devices whose memory the host cannot access. */
    @ParameterizedTest
    @EnumSource
    void f16IsRefused(Ranks ranks) throws Exception {
        ranks.run(2, communicator -> {
            Tensor single = HostTensors.f32(1, 2, 3, 4);
            Tensor half = new Tensor(single.storage(), 0, DType.F16, Shape.of(4));
            for (Executable collective : List.<Executable>of(() -> communicator.allReduce(half, Reduction.SUM),
                    () -> communicator.allGather(half, half.slice(0, 2)), () -> communicator.broadcast(half, 0))) {
                assertTrue(assertThrows(IllegalArgumentException.class, collective).getMessage()
                    .endsWith("support BF16, F32 and F64, not F16"));
            }
            communicator.allReduce(single, Reduction.SUM).await(); // the failed calls were not issued
            assertArrayEquals(new double[] {2, 4, 6, 8}, HostTensors.values(single));
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void maximumPropagatesNaN(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            double[] values = new double[33];
            values[communicator.group().index()] = Double.NaN;
            values[32] = communicator.group().index() == 1 ? Double.POSITIVE_INFINITY : 0;
            Tensor tensor = HostTensors.f32(values);
            communicator.allReduce(tensor, Reduction.MAX).await();
            double[] reduced = HostTensors.values(tensor);
            assertEquals(count, Arrays.stream(reduced).filter(Double::isNaN).count());
            assertEquals(Double.POSITIVE_INFINITY, reduced[32]);
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void unevenAllGather(Ranks ranks, int count) throws Exception {
        long[] sizes = SequenceSplit.sizes(1013L * count - 2, count);
        int total = (int) Arrays.stream(sizes).sum();
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            long start = SequenceSplit.start(total, count, index);
            Tensor own = HostTensors.of(DType.F32, sizes[index], i -> start + i);
            Tensor apart = HostTensors.of(DType.F32, total, i -> -1);
            communicator.allGather(apart, own, sizes).await();
            assertArrayEquals(expected(total, i -> i), HostTensors.values(apart));

            Tensor whole = HostTensors.of(DType.F64, total, i -> i < start || i >= start + sizes[index] ? -1 : i);
            communicator.allGather(whole, whole.slice(start, sizes[index]), sizes).await();
            assertArrayEquals(expected(total, i -> i), HostTensors.values(whole));
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void unevenReduceScatterLeavesItsInput(Ranks ranks, int count) throws Exception {
        long[] sizes = IntStream.range(0, count).mapToLong(i -> i == 1 ? 0 : 100 + 7 * i).toArray();
        int total = (int) Arrays.stream(sizes).sum();
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            Tensor in = HostTensors.of(DType.F32, total, i -> i + index);
            Tensor out = HostTensors.of(DType.F32, Math.max(1, sizes[index]), i -> -1);
            communicator.reduceScatter(out, in, Reduction.AVERAGE, sizes).await();
            long start = Arrays.stream(sizes).limit(index).sum();
            double[] parts = index == 1 ? new double[] {-1}
                : expected((int) sizes[index], i -> start + i + (count - 1) / 2.0);
            assertArrayEquals(parts, HostTensors.values(out), 1e-4);
            assertArrayEquals(expected(total, i -> i + index), HostTensors.values(in));

            Tensor shared = HostTensors.of(DType.F64, 10L * count, i -> i);
            communicator.reduceScatter(shared.slice(10L * index, 10), shared, Reduction.SUM).await();
            assertArrayEquals(expected(10, i -> count * (10.0 * index + i)),
                HostTensors.values(shared.slice(10L * index, 10)));
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void broadcastFromEveryRoot(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            for (int root = 0; root < count; root++) {
                int from = root;
                boolean mine = communicator.group().index() == root;
                Tensor tensor = HostTensors.of(DType.F64, 40_000, i -> mine ? i + from : -1);
                communicator.broadcast(tensor, root).await();
                assertArrayEquals(expected(40_000, i -> i + from), HostTensors.values(tensor));
            }
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void neighboursExchangeLargeTensors(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            Tensor own = HostTensors.of(DType.F32, 2_000_000, i -> index);
            Tensor theirs = HostTensors.of(DType.F32, 2_000_000, i -> -1);
            // All send before any receives: this must not block.
            Work sent = communicator.send(own, (index + 1) % count);
            int previous = (index + count - 1) % count;
            communicator.receive(theirs, previous).await();
            sent.await();
            assertArrayEquals(expected(2_000_000, i -> previous), HostTensors.values(theirs));
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void severalOperationsAsOne(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            int previous = (index + count - 1) % count;
            Tensor sum = HostTensors.of(DType.F32, 1000, i -> i);
            Tensor own = HostTensors.of(DType.F64, 300_000, i -> index);
            Tensor theirs = HostTensors.of(DType.F64, 300_000, i -> -1);
            Work work = communicator.together(() -> {
                communicator.allReduce(sum, Reduction.SUM);
                communicator.receive(theirs, previous); // before any rank sends
                communicator.send(own, (index + 1) % count);
            });
            work.await();
            assertTrue(work.done());
            assertArrayEquals(expected(1000, i -> (double) count * i), HostTensors.values(sum));
            assertArrayEquals(expected(300_000, i -> previous), HostTensors.values(theirs));
            communicator.together(() -> { }).await();
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void aBarrierEndsOnlyAfterAllRanksHaveReachedIt(Ranks ranks, int count) throws Exception {
        AtomicInteger arrived = new AtomicInteger();
        ranks.run(count, communicator -> {
            for (int round = 1; round <= 20; round++) {
                if (communicator.group().index() == round % count) {
                    Thread.sleep(2);
                }
                arrived.incrementAndGet();
                communicator.barrier().await();
                assertTrue(arrived.get() >= round * count, "barrier " + round);
            }
        });
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void operationsRunInTheOrderOfTheirIssue(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            Tensor tensor = HostTensors.of(DType.F64, 100, i -> 1);
            List<Work> works = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                works.add(communicator.allReduce(tensor, Reduction.AVERAGE.times(2)));
            }
            works.getLast().await();
            assertTrue(works.stream().allMatch(Work::done));
            assertArrayEquals(expected(100, i -> 1024), HostTensors.values(tensor), 1e-9);
        });
    }

    /** Rank 1 sends only after the send of rank 0 is done, although rank 0 has issued its receive already. */
    @ParameterizedTest
    @EnumSource
    void awaitingAnOperationDoesNotWaitForLaterOnes(Ranks ranks) throws Exception {
        Semaphore sent = new Semaphore(0);
        ranks.run(2, communicator -> {
            Tensor own = HostTensors.of(DType.F64, 100_000, i -> communicator.group().index());
            Tensor theirs = HostTensors.of(DType.F64, 100_000, i -> 2);
            for (int round = 0; round < 10; round++) {
                if (communicator.group().index() == 0) {
                    Work sending = communicator.send(own, 1);
                    Work receiving = communicator.receive(theirs, 1);
                    sending.await();
                    sent.release();
                    receiving.await();
                } else {
                    communicator.receive(theirs, 0).await();
                    assertTrue(sent.tryAcquire(10, TimeUnit.SECONDS), "rank 0 still waits");
                    communicator.send(own, 0).await();
                }
            }
            assertEquals(1 - communicator.group().index(), HostTensors.values(theirs)[99_999]);
        });
    }

    @Test
    void bothTransportsGiveTheSameBitsAtAllRanks() throws Exception {
        double[] threads = sumOfNoise(Ranks.THREADS, 3);
        assertArrayEquals(threads, sumOfNoise(Ranks.SOCKETS, 3));
        assertArrayEquals(threads, sumOfNoise(Ranks.SOCKETS, 3));
    }

    /** A sum whose rounding depends on the order of addition. Checks that all ranks have the same bits. */
    private static double[] sumOfNoise(Ranks ranks, int count) throws Exception {
        double[][] sums = new double[count][];
        ranks.run(count, communicator -> {
            int index = communicator.group().index();
            Random random = new Random(index);
            Tensor tensor = HostTensors.of(DType.F32, MANY, i -> random.nextGaussian());
            communicator.allReduce(tensor, Reduction.AVERAGE).await();
            sums[index] = HostTensors.values(tensor);
        });
        Arrays.stream(sums).forEach(sum -> assertArrayEquals(sums[0], sum));
        return sums[0];
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void invalidArgumentsAreRefusedAtOnce(Ranks ranks, int count) throws Exception {
        ranks.run(count, communicator -> {
            Tensor tensor = HostTensors.f32(1, 2, 3);
            refused(() -> communicator.allGather(tensor, tensor, 1, 1));
            refused(() -> communicator.reduceScatter(HostTensors.of(DType.F64, 1, i -> 0), tensor, Reduction.SUM,
                SequenceSplit.sizes(Math.max(3, count), count)));
            refused(() -> communicator.broadcast(tensor, count));
            refused(() -> communicator.send(tensor, communicator.group().index()));
            communicator.barrier().await();
        });
    }

    private static void refused(Runnable call) {
        assertThrows(IllegalArgumentException.class, call::run);
    }

    private static double[] expected(int elements, LongToDoubleFunction value) {
        return IntStream.range(0, elements).mapToDouble(value::applyAsDouble).toArray();
    }
}
