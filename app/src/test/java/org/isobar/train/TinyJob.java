package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.isobar.backend.host.Ranks;
import org.isobar.config.RunConfig;
import org.isobar.distributed.JobSecret;
import org.isobar.telemetry.Screen;

/**
 * A job of several ranks that train preset {@code tiny} within this JVM and talk over sockets: each is a thread, and
 * computes on one.
 *
 * @param codes     exit code of each rank
 * @param screen    what all have shown
 * @param directory where the run wrote
 */
record TinyJob(List<Integer> codes, String screen, Path directory) {

    /** Trains on the data under {@code data}, writes under {@code logs}; {@code settings} are KEY=VALUE. */
    static TinyJob of(Path data, Path logs, int count, String... settings) throws Exception {
        return of(data, logs, Collections.nCopies(count, Interruption.NONE), settings);
    }

    /** The same with somebody for each rank who may ask it to end. */
    static TinyJob of(Path data, Path logs, List<Interruption> interruptions, String... settings) throws Exception {
        String port = String.valueOf(Ranks.freePort());
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        List<Callable<Integer>> ranks = new ArrayList<>();
        List<RunConfig> configs = new ArrayList<>();
        for (int rank = 0; rank < interruptions.size(); rank++) {
            Map<String, String> environment = Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
                "WORLD_SIZE", String.valueOf(interruptions.size()), "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", port,
                "ISOBAR_THREADS", "1");
            RunConfig config = TinyRun.config(data, logs, environment, settings);
            configs.add(config);
            TrainingRun.Surroundings surroundings = new TrainingRun.Surroundings(JobSecret.none(), environment,
                Screen.plain(screen), interruptions.get(rank));
            ranks.add(() -> TrainingRun.run(config, surroundings));
        }
        List<Integer> codes = codes(ranks);
        return new TinyJob(codes, screen.toString(StandardCharsets.UTF_8),
            configs.getFirst().output().experimentDirectory());
    }

    private static List<Integer> codes(List<Callable<Integer>> ranks) throws InterruptedException, ExecutionException {
        List<Integer> codes = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(ranks.size())) {
            for (Future<Integer> code : threads.invokeAll(ranks)) {
                codes.add(code.get());
            }
        }
        return codes;
    }

    /** The same job; fails unless all ranks ended with that code. */
    TinyJob ended(int code) {
        assertEquals(Collections.nCopies(codes.size(), code), codes, screen);
        return this;
    }

    /** What the run has left. */
    RunTrace trace() throws IOException {
        return RunTrace.of(directory);
    }
}
