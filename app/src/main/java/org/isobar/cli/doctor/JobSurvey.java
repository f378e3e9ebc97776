package org.isobar.cli.doctor;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.checkpoint.StrictJson;
import org.isobar.cli.print.FactTable;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * {@code isobar doctor --job}: what each task of a job has, as one table that rank 0 prints. The tasks exchange files
 * in the current directory, which all nodes of a job share, because a survey must also work where tasks cannot reach
 * each other over the network, and without a secret.
 */
final class JobSurvey {
    /** How long rank 0 waits for the other tasks; longer than a driver may take to answer. */
    static final Duration LIMIT = Duration.ofSeconds(90);
    private static final Duration INTERVAL = Duration.ofMillis(50);
    private static final int MAX_BYTES = 1 << 16;
    private static final JsonMapper JSON = StrictJson.mapperWithoutNull();

    private final Map<String, String> environment;
    private final RankEnvironment ranks;
    private final Duration limit;
    private final Path folder;

    JobSurvey(Map<String, String> environment, Duration limit) {
        this(environment, limit, Path.of(""));
    }

    JobSurvey(Map<String, String> environment, Duration limit, Path directory) {
        this.environment = environment;
        this.limit = limit;
        ranks = RankEnvironment.of(environment);
        folder = directory.resolve(".isobar-doctor-" + name());
    }

    /** The same for all tasks of a step, and different for other steps and for a job that was requeued. */
    private String name() {
        if (environment.containsKey("SLURM_STEP_ID") && environment.containsKey("SLURM_PROCID")) {
            return String.join("-", environment.get("SLURM_JOB_ID"),
                environment.getOrDefault("SLURM_RESTART_COUNT", "0"), environment.get("SLURM_STEP_ID"));
        }
        String secret = environment.getOrDefault("ISOBAR_JOB_SECRET", "");
        return ranks.masterPort() + "-" + Integer.toHexString(Objects.hash(secret, ranks.masterAddress()));
    }

    /** Examines the node of this task. Rank 0 then waits for the others, and prints. */
    void run(PrintWriter out) {
        TaskFacts own = TaskFacts.examine(ranks, environment);
        if (ranks.rank() > 0) {
            publish(own);
            return;
        }
        Map<Integer, TaskFacts> all = new TreeMap<>(Map.of(0, own));
        try {
            collect(all);
        } finally {
            delete();
        }
        print(all, out);
    }

    /** Rank 0 may delete the directory as soon as it has the last file. */
    private void publish(TaskFacts facts) {
        Path file = file(ranks.rank());
        try {
            byte[] content = JSON.writeValueAsBytes(facts);
            Files.createDirectories(folder);
            AtomicFile.replace(file, channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(content)));
        } catch (IOException failure) {
            throw FileFault.unwritable("what this task has " + file, "the current directory", failure);
        }
    }

    private Path file(int rank) {
        return folder.resolve("rank-" + rank + ".json");
    }

    private void collect(Map<Integer, TaskFacts> all) {
        long end = System.nanoTime() + limit.toNanos();
        while (all.size() < ranks.worldSize() && System.nanoTime() < end) {
            for (int rank = 1; rank < ranks.worldSize(); rank++) {
                if (!all.containsKey(rank) && Files.exists(file(rank))) {
                    all.put(rank, read(file(rank)));
                }
            }
            try {
                Thread.sleep(INTERVAL);
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private static TaskFacts read(Path file) {
        try {
            return JSON.readValue(RegularFile.read(file, MAX_BYTES), TaskFacts.class);
        } catch (JsonProcessingException damaged) {
            throw new UserException(file + " is not what a task of this job wrote; delete it", damaged);
        } catch (IOException failure) {
            throw FileFault.unreadable(file.toString(), failure);
        }
    }

    private void delete() {
        try {
            for (int rank = 1; rank < ranks.worldSize(); rank++) {
                Files.deleteIfExists(file(rank));
            }
            Files.deleteIfExists(folder);
        } catch (IOException used) { // a late task writes there
            return;
        }
    }

    private void print(Map<Integer, TaskFacts> all, PrintWriter out) {
        List<List<String>> rows = new ArrayList<>(List.of(TaskFacts.COLUMNS));
        all.values().forEach(facts -> rows.add(facts.row()));
        FactTable table = new FactTable(out);
        table.table(rows);
        Map<String, Set<Integer>> reasons = new LinkedHashMap<>();
        Map<String, Set<Integer>> choices = new TreeMap<>();
        all.values().forEach(facts -> {
            reasons.computeIfAbsent(facts.reason(), _ -> new TreeSet<>()).add(facts.rank());
            choices.computeIfAbsent(facts.auto(), _ -> new TreeSet<>()).add(facts.rank());
        });
        reasons.forEach((reason, at) -> out.println(ranks(at) + (reason.isEmpty() ? "can train on a GPU."
            : "cannot train on a GPU: " + reason + ".")));
        if (choices.size() > 1) {
            out.println("A run without --device ends with code 2, because the tasks differ: "
                + choices.entrySet().stream().map(choice -> choice.getKey() + " at " + ranks(choice.getValue()).strip())
                .collect(Collectors.joining(", ")) + ".");
        }
        Set<Integer> absent = IntStream.range(0, ranks.worldSize()).filter(rank -> !all.containsKey(rank)).boxed()
            .collect(Collectors.toCollection(TreeSet::new));
        if (!absent.isEmpty()) {
            out.println(ranks(absent) + "did not answer within " + limit.toSeconds() + " s: they have not started, or "
                + "their current directory is not that of rank 0, " + Path.of("").toAbsolutePath() + ".");
        }
    }

    /** "rank 3 " or "ranks 0-3, 7 ". */
    private static String ranks(Set<Integer> ranks) {
        List<String> spans = new ArrayList<>();
        int first = -1;
        int last = -1;
        for (int rank : ranks) {
            if (rank != last + 1 || first < 0) {
                span(first, last, spans);
                first = rank;
            }
            last = rank;
        }
        span(first, last, spans);
        return (ranks.size() == 1 ? "rank " : "ranks ") + String.join(", ", spans) + " ";
    }

    private static void span(int first, int last, List<String> spans) {
        if (first >= 0) {
            spans.add(first == last ? String.valueOf(first) : first + "-" + last);
        }
    }
}
