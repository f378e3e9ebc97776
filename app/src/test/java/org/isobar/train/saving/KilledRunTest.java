package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

import org.isobar.train.ProcessJob;
import org.isobar.train.RunOutputs;
import org.isobar.train.ThreadJob;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.RandomlyKilledRank.Phase;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Kills processes repeatedly in steps, in saving and in validation, and restarts them each time. Their outputs have the
 * bits of an undisturbed run. {@code -Disobar.kills=SEED} repeats a failed test with the seed of its message, as far as
 * timing can be repeated.
 */
@Execution(ExecutionMode.CONCURRENT)
class KilledRunTest {
    private static final int KILLED = 128 + 9; // the exit code that Java gives for SIGKILL
    private static final int SAVES = 2; // saves begun before each kill, so that every start makes progress

    @TempDir
    private static Path data;
    @TempDir
    private Path directory;

    private final long seed = Long.getLong("isobar.kills", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<String> history = new ArrayList<>();
    private final List<Phase> next = new ArrayList<>();
    private final Map<Phase, Integer> kills = new EnumMap<>(Phase.class);

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @Test
    void oneProcessIsKilledInEachPhase() throws Exception {
        oneProcessIsKilled(Phase.values().length, "--device=cpu");
    }

    @Tag("slow")
    @Test
    void oneProcessIsKilledFiftyTimes() throws Exception {
        oneProcessIsKilled(50, "--device=cpu");
    }

    @Tag("cuda")
    @Test
    void oneProcessWithAGpuIsKilledTwice() throws Exception {
        oneProcessIsKilled(2, "--device=cuda --enable_cuda_graphs --amp_mode=fp16");
    }

    private void oneProcessIsKilled(int times, String options) throws Exception {
        String[] settings = settings(times);
        TinyRun undisturbed = TinyRun.of(data, directory.resolve("undisturbed"), Stream.concat(Stream.of(settings),
            settings(options)).toArray(String[]::new)).succeeded();
        killAndFinish(1, times, options, settings, RunOutputs.of(undisturbed.directory()));
    }

    /** Converts command-line options to KEY=VALUE. */
    private static Stream<String> settings(String options) {
        return Stream.of(options.split(" ")).map(option -> option.substring(2))
            .map(setting -> setting.contains("=") ? setting : setting + "=true");
    }

    @Test
    void oneOfTwoRanksIsKilledTwice() throws Exception {
        ranksAreKilled(2, 2, "--tensor_parallel=2");
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"--tensor_parallel=2", "--tensor_parallel=2 --context_parallel=2"})
    void fourRanksAreKilledTenTimes(String layout) throws Exception {
        ranksAreKilled(4, 10, layout);
    }

    private void ranksAreKilled(int ranks, int times, String layout) throws Exception {
        String[] settings = settings(times);
        ThreadJob undisturbed =
            ThreadJob.of(data, directory.resolve("undisturbed"), ranks, Stream.concat(Stream.of(settings),
            settings(layout)).toArray(String[]::new)).ended(0);
        killAndFinish(ranks, times, layout, settings, undisturbed.outputs());
    }

    /** Short epochs: two for each kill, which usually needs one, and a few more. */
    private static String[] settings(int kills) {
        return new String[] {"limit_nsamples=12", "limit_nsamples_val=4", "num_iters=" + (12 * kills + 24)};
    }

    private void killAndFinish(int ranks, int times, String layout, String[] settings, RunOutputs undisturbed)
        throws Exception {
        String[] options = Stream.of(Stream.of(settings).map(setting -> "--set=" + setting),
            Stream.of(layout.split(" ")), Stream.of("--resume=auto", "--checkpoint_every=2"))
            .flatMap(all -> all).toArray(String[]::new);
        for (int kill = 0; kill < times; kill++) {
            killOne(ranks, phase(kill), kill % 2 == 0, options);
        }
        assertEquals(times, kills.values().stream().mapToInt(Integer::intValue).sum(), this::story);
        assertEquals(Math.min(times, Phase.values().length), kills.size(), this::story);
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < ranks; rank++) {
                job.start(rank, ranks, options);
            }
            for (int rank = 0; rank < ranks; rank++) {
                assertEquals(0, job.code(rank), () -> story() + job.screens());
            }
            assertTrue(job.shown(0).contains("Resuming after iteration "), () -> story() + job.screens());
            undisturbed.assertEqualTo(RunOutputs.of(job.directory()), story() + job.screens());
        }
    }

    /** Chooses the phase of the next kill: every phase once, in random order. */
    private Phase phase(int kill) {
        if (kill % Phase.values().length == 0) {
            next.addAll(List.of(Phase.values()));
            Collections.shuffle(next, random);
        }
        return next.removeFirst();
    }

    /** Starts the job and kills one rank. Then kills the others, or waits until they detect the loss. */
    private void killOne(int ranks, Phase phase, boolean alone, String... options)
        throws IOException, InterruptedException {
        int culprit = random.nextInt(ranks);
        Map<String, String> fate = Map.of("KILL_IN", phase.name(), "KILL_SEED", String.valueOf(random.nextLong()),
            "KILL_AFTER", String.valueOf(SAVES + random.nextInt(2)));
        history.add("rank " + culprit + (alone ? " alone " : " with all ") + fate);
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < ranks; rank++) {
                Map<String, String> variables = new HashMap<>(Map.of("WORLD_SIZE", String.valueOf(ranks)));
                if (rank == culprit) {
                    variables.putAll(fate);
                }
                job.start(RandomlyKilledRank.class.getName(), rank, variables, options);
            }
            assertEquals(KILLED, job.code(culprit), () -> story() + job.screens());
            String shown = job.shown(culprit);
            assertTrue(shown.contains(RandomlyKilledRank.ANNOUNCEMENT + phase), () -> story() + job.screens());
            history.add(start(job) + "; " + shown.substring(shown.indexOf(RandomlyKilledRank.ANNOUNCEMENT)).strip());
            kills.merge(phase, 1, Integer::sum);
            if (!alone) {
                job.kill();
            }
            for (int rank = 0; rank < ranks; rank++) {
                if (rank != culprit) { // it may have detected the loss and exited before
                    int code = job.code(rank);
                    assertTrue(code == 1 || code == KILLED && !alone, () -> story() + job.screens());
                }
            }
        }
    }

    private static String start(ProcessJob job) {
        return job.shown(0).lines().filter(line -> line.contains("Resuming after iteration ")).findAny()
            .map(line -> line.substring(line.indexOf("Resuming"))).orElse("From the beginning");
    }

    /** History of the test, for failure messages. */
    private String story() {
        return "seed " + seed + "\n" + String.join("\n", history) + "\n";
    }
}
