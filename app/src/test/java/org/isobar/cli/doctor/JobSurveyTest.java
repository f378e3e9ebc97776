package org.isobar.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.GivenGpus;
import org.isobar.backend.GpuFindings;
import org.isobar.backend.cuda.driver.CudaObstacle;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.driver.CudaVersion;
import org.isobar.backend.cuda.driver.DriverInfo;
import org.isobar.backend.cuda.driver.GpuInfo;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code doctor --job} and {@code doctor COMMAND}, which a job runs before its tasks train. */
class JobSurveyTest {
    @TempDir
    private Path directory;

    /** Three tasks of a step, as threads. */
    @Test
    void rankZeroPrintsOneTable() throws Exception {
        List<String> lines = survey(3, 3, Duration.ofSeconds(60));
        assertEquals("rank  node", lines.getFirst().strip().replaceAll(" {2,}", "  ").substring(0, 10));
        for (int rank = 0; rank < 3; rank++) {
            assertTrue(lines.get(1 + rank).matches("  " + rank + " .*SLURM_GPUS_ON_NODE=4 .*"), lines::toString);
        }
        assertTrue(lines.stream().anyMatch(line -> line.startsWith("ranks 0-2 can")), lines::toString);
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void ranksThatDoNotAnswerAreNamed() throws Exception {
        List<String> lines = survey(2, 5, Duration.ofMillis(200));
        assertTrue(lines.getLast().startsWith("ranks 2-4 did not answer within 0 s: they have not started, or"),
            lines::toString);
    }

    private List<String> survey(int running, int count, Duration limit) throws Exception {
        StringWriter out = new StringWriter();
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<?>> others = IntStream.range(1, running).<Future<?>>mapToObj(rank -> threads.submit(
                () -> task(rank, count, limit).run(new PrintWriter(Writer.nullWriter())))).toList();
            for (Future<?> other : others) {
                other.get();
            }
            task(0, count, limit).run(new PrintWriter(out, true));
        }
        return out.toString().lines().toList();
    }

    private JobSurvey task(int rank, int count, Duration limit) {
        return new JobSurvey(Map.of("SLURM_JOB_ID", "7", "SLURM_STEP_ID", "0", "SLURM_PROCID", String.valueOf(rank),
            "SLURM_NTASKS", String.valueOf(count), "SLURM_STEP_NUM_TASKS", String.valueOf(count), "SLURM_LOCALID", "0",
            "SLURM_STEP_NODELIST", "localhost", "SLURM_GPUS_ON_NODE", "4"), limit, directory);
    }

    @Test
    void aRowHasWhatATaskHas() {
        GpuInfo gpu = new GpuInfo("NVIDIA A100", 80, 1L << 30, Optional.empty());
        CudaReport report = new CudaReport(Optional.of(new DriverInfo(Optional.of("535.1"), new CudaVersion(12, 2),
            Optional.empty())), List.of(), List.of(gpu, gpu));
        GivenGpus given = new GivenGpus(true, List.of("CUDA_VISIBLE_DEVICES=0,1"));
        CudaObstacle old = new CudaObstacle("the driver is old", "mend it");
        assertEquals(List.of("3", "nid1", "CUDA_VISIBLE_DEVICES=0,1", "535.1 (CUDA 12.2)", "2 x NVIDIA A100", "found",
            "missing", "code 2"), TaskFacts.of(3, "nid1", new GpuFindings(report, List.of(old), given)).row());
        assertEquals("GPU", TaskFacts.of(3, "nid1", new GpuFindings(report, List.of(), given)).auto());
        assertEquals("CPU", TaskFacts.of(3, "nid1", new GpuFindings(report, List.of(old),
            new GivenGpus(true, List.of()))).auto());
    }

    /** In the shell of a batch script, whose variables look like those of rank 0. */
    @Test
    void aCommandIsCheckedInTheShellOfAJob() throws IOException {
        Map<String, String> shell = new HashMap<>(Map.of("SLURM_JOB_ID", "7", "SLURM_PROCID", "0", "SLURM_NTASKS", "4",
            "SLURM_JOB_NODELIST", "localhost"));
        String cpu = doctor(0, shell, "train", "--config=tiny", "--tensor_parallel=4", "--device=cpu");
        assertTrue(cpu.matches("isobar .* on .*: the CPU computes, as --device=cpu asks\\R"), cpu);
        assertTrue(doctor(0, shell, "train", "--help").contains("no device is needed"));
        assertTrue(doctor(0, shell, "groups").contains("no device is needed"));
        assertTrue(doctor(2, shell, "train", "--config=tinny").contains("has no preset 'tinny'. Did you mean 'tiny'?"));
        assertTrue(doctor(2, shell, "train", "--nun_iters=3").contains("Unknown option: '--nun_iters=3'"));
        assertTrue(doctor(2, shell, "train", "--comm_backend=ncll").contains("comm_backend is 'ncll'"));
        assertTrue(doctor(2, shell, "verify", "--device=gpu").contains("'gpu'"));
        assertTrue(doctor(2, shell, "evaluate", "--model=m", "--lead_steps=1", "--out=o", "--device=gpu")
            .contains("--device is 'gpu', but it takes "));
        assertTrue(doctor(0, shell, "bench", "step", "--config=tiny", "--json=f", "--local_batch_size=1",
            "--device=cpu").contains("the CPU computes"));
        assertTrue(doctor(2, shell, "trian").contains("'trian' is not a command of isobar. Did you mean 'train'?"));
    }

    @Test
    void aCommandThatCannotUseTheGpusOfItsJobEndsWithTwo() throws IOException {
        Map<String, String> shell = new HashMap<>(Map.of("SLURM_JOB_ID", "7", "SLURM_PROCID", "0", "SLURM_NTASKS", "1",
            "CUDA_VISIBLE_DEVICES", ""));
        assertTrue(doctor(0, shell, "train", "--config=tiny").contains("the CPU computes: no GPU was given, and "));
        shell.putAll(Map.of("SLURM_GPUS_ON_NODE", "4", "ISOBAR_IMAGE", "isobar:1"));
        for (String[] command : new String[][] {{"train", "--config=tiny"}, {"verify"}, {"verify", "--device=auto"}}) {
            String refused = doctor(2, shell, command);
            assertTrue(refused.startsWith("isobar: --device auto: Slurm has given this process GPUs "
                + "(SLURM_GPUS_ON_NODE=4), and none can be used: "), refused);
            assertTrue(refused.contains(" in image isobar:1: driver "), refused);
            assertEquals(1, refused.lines().count(), refused);
        }
        assertTrue(doctor(2, shell, "train", "--config=tiny", "--device=cuda").startsWith("isobar: --device cuda: "));
        assertFalse(doctor(0, shell, "verify", "--device=cpu").contains("cannot"));
    }

    private static String doctor(int code, Map<String, String> environment, String... command) {
        StringWriter out = new StringWriter();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), environment))
            .setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
        String[] line = Stream.concat(Stream.of("doctor"), Stream.of(command)).toArray(String[]::new);
        assertEquals(code, Main.execute(main, line), out::toString);
        return out.toString();
    }
}
