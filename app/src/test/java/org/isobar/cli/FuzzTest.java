package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random changes of everything that the program reads: each is read, or refused with one line, within seconds. Case i
 * has the seed {@code isobar.fuzz.seed} + i, so that a failure can be repeated.
 */
@Execution(ExecutionMode.CONCURRENT)
class FuzzTest {
    private static final long SEED = Long.getLong("isobar.fuzz.seed", 20_261_122L);
    private static final int FIXED_CASES = 150;
    private static final Duration LONG = Duration.ofMinutes(5).dividedBy(FuzzSubject.values().length);
    private static final int LIMIT_SECONDS = 20;

    @TempDir
    private static Path runs;
    private static Path run;
    @TempDir
    private Path directory;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(runs);
        run = TinyRun.of(runs, runs.resolve("logs"), "num_iters=12").succeeded().directory();
    }

    @ParameterizedTest
    @EnumSource
    void fixedCases(FuzzSubject subject) throws Exception {
        cases(subject, SEED, Duration.ofMinutes(1), FIXED_CASES);
    }

    /** A size in a file that asks for more memory than there is, and a message that quoted a line break. */
    @ParameterizedTest
    @CsvSource({"HDF5, 20285590", "NPY, 20261558"})
    void casesThatOnceFailed(FuzzSubject subject, long seed) throws Exception {
        cases(subject, seed, Duration.ofMinutes(1), 1);
    }

    @Tag("slow")
    @ParameterizedTest
    @EnumSource
    void manyCases(FuzzSubject subject) throws Exception {
        cases(subject, SEED, LONG, Integer.MAX_VALUE);
    }

    private void cases(FuzzSubject subject, long seed, Duration time, int most) throws Exception {
        List<byte[]> examples = subject.examples(run);
        Path place = Files.createDirectory(directory.resolve("input"));
        long start = System.nanoTime();
        try (ExecutorService reader = Executors.newSingleThreadExecutor()) {
            for (int i = 0; i < most && System.nanoTime() - start < time.toNanos(); i++) {
                Random random = new Random(seed + i);
                byte[] bytes = Mutation.of(examples.get(random.nextInt(examples.size())), random);
                String name = subject + ", isobar.fuzz.seed=" + (seed + i);
                check(name, reader.submit(() -> {
                    subject.read(place, bytes);
                    return null;
                }));
            }
        }
        try (Stream<Path> files = Files.list(directory)) {
            assertEquals(List.of(place), files.toList());
        }
    }

    private static void check(String name, Future<?> read) throws InterruptedException, IOException {
        try {
            read.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException endless) {
            read.cancel(true);
            throw new AssertionError(name + " has not ended after " + LIMIT_SECONDS + " s", endless);
        } catch (ExecutionException failed) {
            if (!(failed.getCause() instanceof UserException refused)) {
                throw new AssertionError(name, failed.getCause());
            }
            assertTrue(refused.getMessage().chars().noneMatch(Character::isISOControl), name);
        }
    }
}
