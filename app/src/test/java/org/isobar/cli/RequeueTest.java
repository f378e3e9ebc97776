package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * When a job goes back into the queue, on a real Slurm of two virtual nodes. The program is a stub, which works until
 * it is asked to end, saves a checkpoint, and is done when it is started again.
 */
@Tag("slurm")
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("the cluster of RequeueTest") // a job that is preempted needs all nodes: one test after the other
class RequeueTest {
    private static final String PROGRAM = """
        #!/bin/bash
        if [ "$1" = doctor ]; then exit; fi
        echo "rank $RANK: $*"
        if [ -n "$SLURM_RESTART_COUNT" ]; then echo "rank $RANK is done"; exit; fi
        trap asked=1 TERM USR1
        echo "rank $RANK works"
        until [ "$asked" ]; do sleep 0.1; done
        sleep 0.5
        echo "rank $RANK has saved"
        exit 75
        """;
    private static final String REQUEUED = "is requeued to go on from it.";

    @TempDir
    private static Path directory;
    private static Path installation;
    private static SlurmCluster cluster;

    @BeforeAll
    static void prepare() throws Exception {
        SlurmCluster.assumePossible();
        installation = Files.createDirectory(directory.resolve("installation"));
        for (String script : List.of("submit_pm.sh", "submit_pm_dp.sh", "submit_pm_mp.sh", "export_DDP_vars.sh")) {
            Files.copy(Path.of("..", script), installation.resolve(script));
        }
        Path program = Files.writeString(installation.resolve("isobar"), PROGRAM);
        assertTrue(program.toFile().setExecutable(true));
        cluster = SlurmCluster.start(2, directory.resolve("two"), installation);
    }

    @AfterAll
    static void end() throws IOException {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** Wherever its user has it begin. The jobs wait together for Slurm to start them again. */
    @Test
    void aJobThatWasAskedToEndGoesOn() throws Exception {
        Map<SlurmCluster.Job, String> jobs = new LinkedHashMap<>(); // with what their first start was told
        jobs.put(interrupted("submit_pm.sh", "USR1", "--config=x"), "--config=x --resume=auto");
        jobs.put(interrupted("submit_pm_dp.sh", "TERM", "--resume=never", "--config=x"), "--resume=never --config=x");
        jobs.put(interrupted("submit_pm_mp.sh", "USR1", "--resume", "a/b", "--config=x"), "--resume a/b --config=x");
        for (var entry : jobs.entrySet()) {
            SlurmCluster.Job job = entry.getKey();
            assertEquals("COMPLETED 0", job.end(), job::output);
            assertEquals(List.of("rank 0: train " + entry.getValue(), "rank 0 works", "rank 0 has saved",
                "rank 0: train --config=x --resume=auto", "rank 0 is done"), ofRankZero(job));
            assertTrue(job.output().contains(REQUEUED), job.output());
            assertFalse(job.output().contains("failed first"), job.output());
        }
    }

    private static SlurmCluster.Job interrupted(String script, String signal, String... options) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("--nodes", "2", "--ntasks-per-node", "1", script));
        arguments.addAll(List.of(options));
        SlurmCluster.Job job = start(2, arguments);
        job.signal(signal);
        return job;
    }

    @Test
    void aCancelledJobDoesNot() throws Exception {
        SlurmCluster.Job job = start(2, List.of("-n", "2", "submit_pm.sh"));
        job.cancel();
        assertTrue(job.end().startsWith("CANCELLED "), job::output);
        job.await("To go on, submit the job again");
        assertFalse(job.output().contains(REQUEUED), job.output());
        assertEquals("rank 0 has saved", ofRankZero(job).getLast());
    }

    @Test
    void aJobThatMayNotBeRequeuedSaysHowToGoOn() throws Exception {
        SlurmCluster.Job job = start(1, List.of("--no-requeue", "-n", "1", "submit_pm.sh"));
        job.signal("USR1");
        assertEquals("FAILED 75", job.end(), job::output);
        assertTrue(job.output().contains("Slurm does not requeue this job. To go on, submit it again."), job.output());
    }

    /** By Slurm, or, while it still has time, by the script. The jobs have a node each, and wait together. */
    @Test
    void aPreemptedJobGoesOn() throws Exception {
        List<SlurmCluster.Job> jobs = List.of(startOn("regular", "node1"), startOn("graceful", "node2"));
        SlurmCluster.Job urgent = cluster.submit(Map.of(), List.of("-p", "urgent", "--exclusive", "--nodes", "2",
            "-o", "urgent-%j.out", "--wrap", "true"));
        assertEquals("COMPLETED 0", urgent.end(), () -> jobs.getFirst().output() + jobs.getLast().output());
        for (SlurmCluster.Job job : jobs) {
            assertEquals("COMPLETED 0", job.end(), job::output);
            assertEquals(2, ofRankZero(job).stream().filter("rank 0: train --resume=auto"::equals).count());
            assertTrue(ofRankZero(job).containsAll(List.of("rank 0 has saved", "rank 0 is done")), job.output());
        }
    }

    private static SlurmCluster.Job startOn(String partition, String node) throws Exception {
        return start(2, List.of("-p", partition, "--exclusive", "--nodes", "1", "--nodelist", node,
            "--ntasks-per-node", "2", "submit_pm_dp.sh"));
    }

    /** A job that works, in so many tasks. */
    private static SlurmCluster.Job start(int tasks, List<String> arguments) throws Exception {
        SlurmCluster.Job job = cluster.submit(Map.of(), arguments);
        job.await(" works", tasks);
        return job;
    }

    private static List<String> ofRankZero(SlurmCluster.Job job) {
        try (Stream<String> lines = job.output().lines()) {
            return lines.filter(line -> line.startsWith("rank 0")).toList();
        }
    }
}
