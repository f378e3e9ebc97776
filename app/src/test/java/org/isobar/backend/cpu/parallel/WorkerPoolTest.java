package org.isobar.backend.cpu.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.device.PendingWork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What operations rely on: every task runs, failures arrive, threads end. */
final class WorkerPoolTest {
    private static final int TASKS = 100;
    private static final long LONGER_THAN_A_WORKER_STAYS_AWAKE = 2_000_000;

    /** A way to run tasks. */
    @FunctionalInterface
    private interface Way {
        void run(WorkerPool pool, int tasks, WorkerPool.Task body);
    }

    private static Stream<Arguments> ways() {
        return Stream.<Way>of(WorkerPool::run, WorkerPool::runApart).flatMap(way ->
            IntStream.of(1, 2, 5).mapToObj(threads -> Arguments.of(way, threads)));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void everyTaskRunsOnceHoweverOften(Way way, int threads) {
        AtomicIntegerArray runs = new AtomicIntegerArray(TASKS);
        try (WorkerPool pool = new WorkerPool(threads)) {
            for (int round = 1; round <= 500; round++) {
                way.run(pool, TASKS, (worker, task) -> {
                    assertTrue(worker >= 0 && worker < threads);
                    runs.incrementAndGet(task);
                });
                assertEquals(round, runs.get(round % TASKS));
                if (round % 100 == 0) {
                    LockSupport.parkNanos(LONGER_THAN_A_WORKER_STAYS_AWAKE);
                }
            }
        }
        for (int task = 0; task < TASKS; task++) {
            assertEquals(500, runs.get(task));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void everyTaskOfTheBackgroundRunsOnceBesideOperations(int threads) {
        AtomicIntegerArray background = new AtomicIntegerArray(TASKS);
        AtomicIntegerArray operations = new AtomicIntegerArray(TASKS);
        try (WorkerPool pool = new WorkerPool(threads)) {
            for (int round = 1; round <= 100; round++) {
                PendingWork work = pool.start(TASKS, background::incrementAndGet);
                for (int i = 0; i < 5; i++) {
                    pool.runApart(TASKS, (worker, task) -> operations.incrementAndGet(task));
                }
                assertEquals(5 * round, operations.get(round % TASKS));
                work.await();
                assertEquals(round, background.get(round % TASKS));
            }
        }
        for (int task = 0; task < TASKS; task++) {
            assertEquals(100, background.get(task));
        }
    }

    @Test
    void idleThreadsRunTheBackgroundEvenAfterTheyHaveParked() throws InterruptedException {
        try (WorkerPool pool = new WorkerPool(2)) {
            for (int round = 0; round < 3; round++) {
                LockSupport.parkNanos(LONGER_THAN_A_WORKER_STAYS_AWAKE);
                CountDownLatch run = new CountDownLatch(TASKS);
                PendingWork work = pool.start(TASKS, task -> run.countDown());
                assertTrue(run.await(60, TimeUnit.SECONDS));
                work.await();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aFailureInTheBackgroundIsThrownWhereItIsAwaited(int threads) {
        IllegalStateException failure = new IllegalStateException();
        try (WorkerPool pool = new WorkerPool(threads)) {
            PendingWork work = pool.start(TASKS, task -> {
                if (task == 7) {
                    throw failure;
                }
            });
            pool.run(TASKS, task -> { });
            assertSame(failure, assertThrows(IllegalStateException.class, work::await));
            pool.run(TASKS, task -> { });
        }
    }

    @Test
    void cancelledWorkOfTheBackgroundHasEnded() {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        AtomicInteger started = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        Thread caller = Thread.currentThread();
        try (WorkerPool pool = new WorkerPool(2)) {
            PendingWork work = pool.start(TASKS, task -> {
                started.incrementAndGet();
                begun.countDown();
                assertTrue(awaitAll(released));
                ended.incrementAndGet();
                throw new IllegalStateException("not reported");
            });
            assertTrue(awaitAll(begun));
            Thread.startVirtualThread(() -> {
                while (caller.getState() != Thread.State.WAITING && ended.get() == 0) {
                    Thread.yield();
                }
                released.countDown();
            });
            work.cancel();
            assertEquals(1, started.get());
            assertEquals(1, ended.get());
            work.cancel();
            pool.run(TASKS, task -> { });
        } finally {
            released.countDown();
        }
        assertEquals(1, started.get());
    }

    @Test
    void fewerTasksThanThreadsRunApartToo() {
        AtomicIntegerArray runs = new AtomicIntegerArray(3);
        try (WorkerPool pool = new WorkerPool(5)) {
            for (int tasks = 0; tasks <= 3; tasks++) {
                pool.runApart(tasks, (worker, task) -> runs.incrementAndGet(task));
            }
        }
        assertEquals(3, runs.get(0));
        assertEquals(2, runs.get(1));
        assertEquals(1, runs.get(2));
    }

    @Test
    void eachWorkerBeginsWithItsOwnRange() {
        int threads = 3;
        AtomicIntegerArray first = new AtomicIntegerArray(threads);
        CountDownLatch begun = new CountDownLatch(threads);
        try (WorkerPool pool = new WorkerPool(threads)) {
            pool.runApart(30, (worker, task) -> {
                if (begun.getCount() > 0) {
                    first.set(worker, task);
                    begun.countDown();
                    assertTrue(awaitAll(begun), "all workers take part");
                }
            });
        }
        for (int worker = 0; worker < threads; worker++) {
            assertEquals(10 * worker, first.get(worker));
        }
    }

    private static boolean awaitAll(CountDownLatch latch) {
        try {
            return latch.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException interruption) {
            throw new AssertionError(interruption);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void theFirstFailureComesBackAsItIs(int threads) {
        IllegalArgumentException failure = new IllegalArgumentException("task 7");
        try (WorkerPool pool = new WorkerPool(threads)) {
            assertSame(failure, assertThrows(IllegalArgumentException.class, () -> pool.run(TASKS, task -> {
                if (task == 7) {
                    throw failure;
                }
            })));
            assertThrows(AssertionError.class, () -> pool.run(TASKS, task -> {
                throw new AssertionError(task);
            }));
            AtomicIntegerArray runs = new AtomicIntegerArray(1);
            pool.run(TASKS, task -> runs.incrementAndGet(0));
            assertEquals(TASKS, runs.get(0), "tasks run after a failure");
        }
    }

    @Test
    void closeEndsTheThreadsEvenWhenInterrupted() {
        WorkerPool pool = new WorkerPool(3);
        Thread[] helpers = new Thread[3];
        pool.run(TASKS, (worker, task) -> {
            helpers[worker] = Thread.currentThread();
            LockSupport.parkNanos(1_000_000);
        });
        Thread.currentThread().interrupt();
        pool.close();
        assertTrue(Thread.interrupted());
        for (int worker = 1; worker < 3; worker++) {
            assertFalse(helpers[worker].isAlive());
        }
        pool.close();
    }
}
