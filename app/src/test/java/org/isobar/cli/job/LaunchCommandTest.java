package org.isobar.cli.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.os.ChildJava;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** What {@code isobar launch} takes, and what it tells the ranks. */
@Execution(ExecutionMode.CONCURRENT)
class LaunchCommandTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        launch train                                       | Missing required option: '--nproc_per_node=N'
        launch --nproc_per_node=2                          | Missing required parameter: 'COMMAND'
        launch --nproc_per_node=many train                 | 'many' is not a whole number
        launch --nproc_per_node=0 train                    | --nproc_per_node=0: a job has at least one process
        launch --nproc_per_node=2 --master_port=70000 train| --master_port=70000 must lie between 1 and 65535
        launch --nproc_per_node=2 trian                    | 'trian' is not a command of isobar. Did you mean 'train'?
        launch --nproc_per_node=2 train --num_iter=3       | isobar: Unknown option: '--num_iter=3'. Did you mean
        launch --nproc_per_node=2 train --config=tinny     | has no preset 'tinny'. Did you mean 'tiny'?
        launch --nproc_per_node=3 train --config=tiny      | which 3 data-parallel ranks cannot share evenly
        """)
    void whatTheUserCanMendExitsWithTwo(String line, String expected) {
        StringWriter err = new StringWriter();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of())).setErr(new PrintWriter(err));
        assertEquals(2, Main.execute(main, line.split(" ")));
        assertTrue(err.toString().contains(expected), err::toString);
        assertEquals(1, err.toString().lines().filter(said -> said.startsWith("isobar: ")).count(), err::toString);
        assertFalse(err.toString().contains("isobar launch: "), err::toString);
    }

    @Test
    void runsTheCommandWithItsOptionsInEachProcess() throws Exception {
        List<String> lines = run("launch", "--nproc_per_node=2", "groups", "--world_size=2", "--tensor_parallel", "2");
        assertTrue(lines.containsAll(List.of(" [g0, g1]", "[rank 1]  [g0, g1]")), lines::toString);
    }

    @Test
    void severalProcessesTrainAsOneDoes() throws Exception {
        List<String> model = TinyRun.smallerOptions();
        List<String> one = run(Stream.concat(Stream.of("train", "--config=tiny", "--expdir=one"), model.stream())
            .toArray(String[]::new));
        List<String> four = run(Stream.concat(Stream.of("launch", "--nproc_per_node=4", "train", "--config=tiny",
            "--expdir=four", "--tensor_parallel=2"), model.stream()).toArray(String[]::new));
        double expected = validationLoss(one);
        assertEquals(expected, validationLoss(four), 1e-5 * expected); // a dozen steps, in float32
        assertTrue(four.stream().anyMatch(line -> line.endsWith("Setting DP = 2, TP = 2, CP = 1, PP = 1")));
        assertTrue(four.stream().noneMatch(line -> line.startsWith("[rank ") && line.contains(" - INFO - ")));
    }

    /** What the program prints, which is to end well. */
    private List<String> run(String... arguments) throws Exception {
        List<String> command = ChildJava.command(Main.class.getName());
        command.addAll(List.of(arguments));
        Process program = new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true).start();
        List<String> lines = new String(program.getInputStream().readAllBytes()).lines().toList();
        assertEquals(0, program.waitFor(), lines::toString);
        return lines;
    }

    private static double validationLoss(List<String> lines) {
        String loss = "  Avg val loss=";
        return lines.stream().filter(line -> line.contains(loss)).findFirst()
            .map(line -> Double.valueOf(line.substring(line.indexOf(loss) + loss.length())))
            .orElseThrow(() -> new AssertionError(lines));
    }

    @Test
    void tellsTheRanksWhereTheyMeet() {
        Map<String, String> environment = LaunchCommand.environment(Map.of("HOME", "/somewhere"), 1000, 4321);
        assertEquals("/somewhere", environment.get("HOME"));
        assertEquals("1", environment.get("ISOBAR_THREADS"));
        environment.put("RANK", "3");
        environment.put("LOCAL_RANK", "3");
        assertEquals(new RankEnvironment(3, 1000, 3, "127.0.0.1", 4321), RankEnvironment.of(environment));
        String secret = environment.get(JobSecret.VARIABLE);
        assertTrue(secret.matches("[0-9a-f]{64}"), secret);
        assertNotEquals(secret, LaunchCommand.environment(Map.of(), 2, 4321).get(JobSecret.VARIABLE));
    }

    @Test
    void worksInTheShellOfASlurmJob() {
        Map<String, String> shell = Map.of("SLURM_JOB_ID", "7", "SLURM_PROCID", "0", "SLURM_NTASKS", "2",
            JobSecret.FILE_VARIABLE, "/of/the/job", "ISOBAR_THREADS", "5");
        Map<String, String> environment = LaunchCommand.environment(shell, 2, 4321);
        environment.put("RANK", "1");
        assertEquals(1, RankEnvironment.of(environment).rank());
        assertFalse(environment.containsKey(JobSecret.FILE_VARIABLE));
        assertEquals("5", environment.get("ISOBAR_THREADS"));
    }
}
