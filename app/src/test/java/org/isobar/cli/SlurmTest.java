package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.isobar.os.ChildJava;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The submit scripts on a real Slurm of four virtual nodes. The launcher script gives way to one that runs these very
 * classes; everything else is as a user has it.
 */
@Tag("slurm")
@Execution(ExecutionMode.CONCURRENT)
class SlurmTest {
    private static final List<String> SCRIPTS = List.of("submit_pm.sh", "submit_pm_dp.sh", "submit_pm_mp.sh",
        "export_DDP_vars.sh");
    private static final Pattern LOSS = Pattern.compile("Avg (train|val) loss=(\\S+)");
    private static final String UNDER_WAY = "Memory usage after forward pass"; // an epoch, by two steps
    private static final String REQUEUED = "is requeued to go on from it.";
    private static final double TOLERANCE = 1e-5; // of losses after a dozen steps, relative

    @TempDir
    private static Path directory;
    private static Path installation;
    private static SlurmCluster cluster;
    private static List<Double> losses;

    /** Trains in one process, which also makes the data. */
    @BeforeAll
    static void prepare() throws Exception {
        SlurmCluster.assumePossible();
        installation = Files.createDirectories(directory.resolve("an installation"));
        Files.createDirectory(installation.resolve("config"));
        Files.writeString(installation.resolve("config/ViT.yaml"), Files.readString(Path.of("..", "config", "ViT.yaml"))
            .replace("embed_dim: 48", "embed_dim: 16").replace("img_size: [32, 64]", "img_size: [16, 32]")); // tiny
        for (String script : SCRIPTS) {
            Files.copy(Path.of("..", script), installation.resolve(script));
        }
        List<String> java = ChildJava.command(Main.class.getName(), "-Xmx512m", "-Disobar.home=" + installation);
        java.remove(ChildJava.QUICK_COMPILER); // $JAVA_FLAGS has it, or the job is long
        Path launcher = Files.writeString(installation.resolve("isobar"), """
            #!/bin/sh
            exec "%s" $JAVA_FLAGS "%s" "$@"
            """.formatted(java.getFirst(), String.join("\" \"", java.subList(1, java.size()))));
        assertTrue(launcher.toFile().setExecutable(true));
        cluster = SlurmCluster.start(4, directory.resolve("four"), installation);
        losses = losses(train("one", "-n 1 -t 20 ./submit_pm.sh --config=tiny --device=cpu"));
    }

    @AfterAll
    static void end() throws IOException {
        if (cluster != null) {
            cluster.close();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        cp2-tp2 | --nodes 4 --ntasks-per-node 1 submit_pm_mp.sh --config=tiny --device=cpu \
        --context_parallel=2 --tensor_parallel=2 --parallel_order=cp-tp-dp
        dp2     | --nodes 1 --ntasks-per-node 2 submit_pm_dp.sh --config=tiny --device=cpu
        """)
    void severalProcessesHaveTheLossesOfOne(String name, String arguments) throws Exception {
        String output = train(name, arguments);
        expect(losses(output), TOLERANCE, output);
    }

    /** As {@code submit_pm_mp.sh} asks for by default. Otherwise tasks of one node are two. */
    @Tag("slow")
    @Test
    void fourTasksOfANodeHaveTheLossesOfOne() throws Exception {
        severalProcessesHaveTheLossesOfOne("tp4",
            "--nodes 1 submit_pm_mp.sh --config=tiny --device=cpu --tensor_parallel=4");
    }

    private static void expect(List<Double> found, double tolerance, String output) {
        assertEquals(losses.size(), found.size());
        for (int i = 0; i < losses.size(); i++) {
            assertEquals(losses.get(i), found.get(i), losses.get(i) * tolerance, output);
        }
    }

    /** Two tasks of a node, with a simulated GPU each. The tolerance is that of training in TF32. */
    @Tag("simulated")
    @Test
    void tasksTakeAGpuEach() throws Exception {
        SlurmCluster.Job job = cluster.submit(
            Map.of("LOGDIR", "logs/gpus", "ISOBAR_SIM_GPUS", "2", "JAVA_FLAGS", ChildJava.QUICK_COMPILER),
            List.of("--nodes", "1", "--ntasks-per-node", "2", "submit_pm_mp.sh", "--config=tiny", "--device=cuda",
                "--comm_backend=nccl", "--tensor_parallel=2"));
        String output = output(job, "gpus");
        assertTrue(output.contains("Device: Simulated GPU"), output);
        expect(losses(output), 16 * 0x1p-11, output);
    }

    /** Interrupted twice, each time some steps into an epoch. The long job runs while Slurm has the chain wait. */
    @Test
    void aChainOfJobsTrainsAsOneLongJob() throws Exception {
        String arguments = "--nodes 2 --ntasks-per-node 1 submit_pm_mp.sh --config=tiny --device=cpu "
            + "--tensor_parallel=2 --num_iters=120";
        SlurmCluster.Job chain = submit("chain", arguments);
        interrupt(chain, 1);
        SlurmCluster.Job unbroken = submit("long", arguments);
        interrupt(chain, 2);
        assertEquals("COMPLETED 0", chain.end(), chain::output);
        assertEquals(2, chain.count("Resuming after iteration"), chain.output());
        output(unbroken, "long");
        assertSameRun("long", "chain");
    }

    /** For the {@code time}th time. */
    private static void interrupt(SlurmCluster.Job job, int time) throws Exception {
        int seen = job.count(UNDER_WAY);
        job.await(UNDER_WAY, seen + 1);
        job.signal("USR1");
        job.await(REQUEUED, time);
    }

    @Tag("slow")
    @Test
    void aJobWithATimeLimitShorterThanItsWorkFinishes() throws Exception {
        String arguments = "submit_pm.sh --config=tiny --device=cpu --num_iters=8000";
        SlurmCluster.Job chain = submitLong("limited", "-n 1 -t 1 --signal=USR1@15 " + arguments);
        assertEquals("COMPLETED 0", chain.end(Duration.ofMinutes(20)), chain::output);
        int links = chain.count(REQUEUED);
        assertTrue(links >= 1 && links == chain.count("Resuming after iteration"), chain.output());
        SlurmCluster.Job unlimited = submitLong("unlimited", "-n 1 " + arguments);
        assertEquals("COMPLETED 0", unlimited.end(Duration.ofMinutes(20)), unlimited::output);
        assertSameRun("unlimited", "limited");
    }

    /** The same losses to the last digit, and the same weights to the last bit. */
    private static void assertSameRun(String expected, String found) throws IOException {
        assertEquals(lossLines(run(expected)), lossLines(run(found)));
        assertEquals(-1, Files.mismatch(run(expected).resolve("model.safetensors"),
            run(found).resolve("model.safetensors")));
    }

    private static Path run(String name) throws IOException {
        try (Stream<Path> files = Files.walk(installation.resolve("logs").resolve(name))) {
            return files.filter(file -> file.endsWith("out.log")).findAny().orElseThrow().getParent();
        }
    }

    private static List<String> lossLines(Path run) throws IOException {
        try (Stream<String> found = LOSS.matcher(Files.readString(run.resolve("out.log"))).results()
                .map(MatchResult::group)) {
            List<String> lines = found.toList();
            assertTrue(lines.size() >= 2, lines::toString);
            return lines;
        }
    }

    @Test
    void aKilledRankEndsTheJobWithItsCode() throws Exception {
        SlurmCluster.Job job = submit("killed",
            "--nodes 2 --ntasks-per-node 2 submit_pm_mp.sh --config=tiny --device=cpu --tensor_parallel=4 "
                + "--num_iters=1000000");
        job.await("Memory usage after forward pass");
        long begin = System.nanoTime();
        job.kill(2);
        assertEquals("FAILED 137", job.end(), job::output);
        Duration took = Duration.ofNanos(System.nanoTime() - begin);
        assertTrue(took.compareTo(Duration.ofSeconds(15)) < 0, took + ", " + job.output());
        assertTrue(job.output().contains("Rank 2 failed first, with code 137."), job.output());
    }

    @Test
    void aMistakeOfTheUserEndsTheJobWithTwo() throws Exception {
        SlurmCluster.Job job = submit("mistake",
            "--nodes 1 --ntasks-per-node 2 submit_pm_dp.sh --config=tinny");
        assertEquals("FAILED 2", job.end(), job::output);
        assertTrue(job.output().contains("has no preset 'tinny'. Did you mean 'tiny'?"), job.output());
    }

    /** The GPUs of this cluster are files only. */
    @Test
    void theScriptsStopBeforeTheTasksWhereTheGpusCannotBeUsed() throws Exception {
        SlurmCluster.Job job = submit("unusable", "--nodes 1 --ntasks-per-node 2 submit_pm_dp.sh --config=tiny");
        assertEquals("FAILED 2", job.end(), job::output);
        assertEquals(1, job.count("--device auto: Slurm has given this process GPUs (SLURM_GPUS_ON_NODE=4, "),
            job.output());
        assertEquals(0, job.count("srun "), job.output());
    }

    /** Two tasks on each of two nodes, which the table names. */
    @Tag("slow")
    @Test
    void theDoctorExaminesEveryTask() throws Exception {
        SlurmCluster.Job job = cluster.submit(Map.of("JAVA_FLAGS", ChildJava.QUICK_COMPILER), List.of("--nodes", "2",
            "--ntasks-per-node", "2", "--gpus-per-node=2", "-o", "doctor-%j.out", "--wrap",
            "srun ./isobar doctor --job"));
        assertEquals("COMPLETED 0", job.end(), job::output);
        for (int rank = 0; rank < 4; rank++) {
            String row = " +" + rank + " +node" + (1 + rank / 2) + " +\\w+_GPUS\\w*=\\S+ +none .* code 2";
            assertEquals(1, job.output().lines().filter(line -> line.matches(row)).count(), row + job.output());
        }
        assertEquals(1, job.count("ranks 0-3 cannot train on a GPU: no NVIDIA driver"), job.output());
    }

    @Test
    void withoutSrunTheProgramSaysSo() throws Exception {
        SlurmCluster.Job job = cluster.submit(Map.of(), List.of("-n", "4", "-o", "shell-%j.out", "--wrap",
            "./isobar train --config=tiny --tensor_parallel=4"));
        assertEquals("FAILED 2", job.end(), job::output);
        assertTrue(job.output().contains("Put srun before the command"), job.output());
    }

    /** Runs the program in several ways in one job; writes {@code WAY ends with CODE} for each. */
    private static final String WAYS = """
        #!/bin/bash
        say() { local way=$1; shift; "$@" >>"ways-$SLURM_JOB_ID.txt" 2>&1; echo "$way ends with $?"; }
        train="train --config=tiny --num_iters=12 --keep=0 --expdir=logs/ways"
        say shell ./isobar $train --run_num=$SLURM_JOB_ID-shell
        say task srun -n 1 ./isobar $train --run_num=$SLURM_JOB_ID-task
        say launched ./isobar launch --nproc_per_node=2 $train --run_num=$SLURM_JOB_ID-launched
        if [ -n "$SLURM_GPUS_ON_NODE" ]; then say bench srun -n 1 ./isobar bench ceilings --json=ways.json; fi
        say cpu srun -n 1 ./isobar $train --run_num=$SLURM_JOB_ID-cpu --device=cpu
        say cuda srun -n 1 ./isobar $train --run_num=$SLURM_JOB_ID-cuda --device=cuda
        """;

    /** The GPUs of this cluster are files only. */
    @Tag("slow")
    @ParameterizedTest
    @ValueSource(strings = {"", "--gpus-per-node=0", "--gpus-per-node=4", "--gres=gpu:1", "--gpus-per-task=1",
        "--gpus=2"})
    void whereSlurmGaveGpusTheProgramDoesNotTrainOnTheCpuByItself(String asked) throws Exception {
        Path script = Files.writeString(installation.resolve("ways" + asked.replace(':', '-') + ".sh"), WAYS);
        List<String> arguments = new ArrayList<>(List.of("-n", "1", "-o", "ways-%j.out"));
        arguments.addAll(asked.isEmpty() ? List.of() : List.of(asked));
        arguments.add(script.toString());
        SlurmCluster.Job job = cluster.submit(Map.of("JAVA_FLAGS", ChildJava.QUICK_COMPILER), arguments);
        assertEquals("COMPLETED 0", job.end(), job::output);
        int auto = asked.isEmpty() || asked.endsWith("=0") ? 0 : 2;
        for (String way : auto == 0 ? List.of("shell", "task", "launched")
                : List.of("shell", "task", "launched", "bench")) {
            assertEquals(1, job.count(way + " ends with " + auto), asked + ": " + job.output());
        }
        assertEquals(1, job.count("cpu ends with 0"), asked + ": " + job.output());
        assertEquals(1, job.count("cuda ends with 2"), asked + ": " + job.output());
    }

    /** The shell that salloc starts is no task, and may be on a machine without GPUs. */
    @Tag("slow")
    @Test
    void theShellOfSallocIsPartOfTheJob() throws Exception {
        String train = "./isobar train --config=tiny --num_iters=12 --keep=0 --expdir=logs/salloc; echo ends with $?";
        Map<String, String> quick = Map.of("JAVA_FLAGS", ChildJava.QUICK_COMPILER);
        String refused = cluster.run(quick, List.of("salloc", "-n", "1", "--gpus-per-node=2", "bash", "-c", train));
        assertTrue(refused.contains("Slurm has given this process GPUs (SLURM_GPUS_PER_NODE=2), and none can be used"),
            refused);
        assertTrue(refused.contains("ends with 2"), refused);
        String trained = cluster.run(quick, List.of("salloc", "-n", "1", "bash", "-c", train));
        assertTrue(trained.contains("ends with 0"), trained);
    }

    /** Trains to the end; returns the job's output, in which rank 0 alone has spoken. */
    private static String train(String name, String arguments) throws Exception {
        return output(submit(name, arguments), name);
    }

    private static String output(SlurmCluster.Job job, String name) throws Exception {
        assertEquals("COMPLETED 0", job.end(), job::output);
        String output = job.output();
        for (String once : List.of("Starting Training Loop...", "DONE ---- rank 0", "DONE ---- rank",
                "Weights: " + installation.resolve("logs").resolve(name))) {
            assertEquals(1, output.split(Pattern.quote(once), -1).length - 1, once + " in " + output);
        }
        assertFalse(Pattern.compile("[0-9a-f]{64}").matcher(output).find(), "a secret in " + output);
        return output;
    }

    private static SlurmCluster.Job submit(String name, String arguments) throws Exception {
        return cluster.submit(Map.of("LOGDIR", "logs/" + name, "JAVA_FLAGS", ChildJava.QUICK_COMPILER),
            List.of(arguments.split(" +")));
    }

    private static SlurmCluster.Job submitLong(String name, String arguments) throws Exception {
        return cluster.submit(Map.of("LOGDIR", "logs/" + name), List.of(arguments.split(" +")));
    }

    private static List<Double> losses(String output) {
        try (Stream<String> found = LOSS.matcher(output).results().map(result -> result.group(2))) {
            List<Double> losses = found.map(Double::valueOf).toList();
            assertTrue(losses.size() >= 2, output);
            return losses;
        }
    }
}
