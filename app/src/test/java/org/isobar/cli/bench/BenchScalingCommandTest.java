package org.isobar.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;

import org.isobar.backend.host.FreePorts;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.ValueConverters;
import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.TrainingRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Runs of one and two ranks become tables and curves; a run that ends early leaves those before it. */
class BenchScalingCommandTest {
    private static final List<String> SMALL = Stream.concat(Stream.of("--yaml_config=../config/ViT.yaml",
        "--config=tiny", "--device=cpu"), TinyRun.smallerOptions().stream()).toList();

    @TempDir
    private Path directory;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void ranksAreComparedInTableAndCurves() throws Exception {
        assertEquals(0, execute(this::trainInThreads, "--ranks=2,1", "--along=dp,tp", "--num_iters=22"),
            () -> out + "" + err);
        List<String[]> rows = Files.readAllLines(directory.resolve("scaling.csv")).stream().skip(1)
            .map(line -> line.split(",")).toList();
        assertEquals(List.of("|1|2", "dp|2|4", "tp|2|2"), rows.stream().map(row -> String.join("|", row[0], row[1],
            row[2])).toList());
        assertEquals(List.of("1.0000", "1.0000"), List.of(rows.getFirst()[4], rows.getFirst()[5]));
        assertEquals(Double.parseDouble(rows.get(2)[3]) / Double.parseDouble(rows.get(0)[3]) / 2,
            Double.parseDouble(rows.get(2)[5]), 1e-3);
        assertTrue(Double.parseDouble(rows.get(2)[7]) < Double.parseDouble(rows.get(0)[7]), "memory planned with tp 2");
        assertEquals(Double.parseDouble(rows.get(0)[11]), Double.parseDouble(rows.get(2)[11]), 1e-5);
        String page = Files.readString(directory.resolve("scaling.md"));
        assertTrue(page.contains("| dp 2 | 4 | ") && page.contains("dp: weak scaling, fixed local batch"), page);
        assertTrue(page.contains("tp, cp: strong scaling, fixed global batch"), page);
        String log = Files.readString(directory.resolve("runs/tiny/2GPU/dp2/out.log"));
        assertTrue(log.contains("lr 0.0014142"), log);
        assertTrue(log.contains("num_iters 11"), log);
        byte[] picture = Files.readAllBytes(directory.resolve("scaling.svg"));
        int curves = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new ByteArrayInputStream(picture))
            .getElementsByTagName("path").getLength();
        assertEquals(2 + 1 + 2 + 1 + 2 + 3 + 3 + 2, curves); // the three panels with an ideal: two; then the others
    }

    /** Runs the ranks of a command as threads. */
    private int trainInThreads(List<String> command, Map<String, String> environment, Path log) {
        int first = command.indexOf("launch");
        int ranks = Integer.parseInt(command.get(first + 1).replace("--nproc_per_node=", ""));
        List<String> train = command.subList(first + 3, command.size());
        CommandLine parser = new CommandLine(CommandLine.Model.CommandSpec.create());
        ConfigOptions.declare(parser.getCommandSpec());
        CommandLine.ParseResult parsed = parser.parseArgs(train.toArray(String[]::new));
        String port = String.valueOf(FreePorts.one());
        try (ExecutorService threads = Executors.newFixedThreadPool(ranks)) {
            List<Future<Integer>> codes = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                Map<String, String> own = new HashMap<>(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK",
                    String.valueOf(rank), "WORLD_SIZE", String.valueOf(ranks), "MASTER_ADDR", "127.0.0.1",
                    "MASTER_PORT", port, "ISOBAR_THREADS", environment.get("ISOBAR_THREADS")));
                RunConfig config = ConfigOptions.resolve(parsed, new ProgramContext(Path.of(".."), own));
                codes.add(threads.submit(() -> TrainingRun.run(config, new RunContext(JobSecret.none(), own,
                    Screen.plain(new ByteArrayOutputStream()), StopRequest.NONE))));
            }
            int worst = 0;
            for (Future<Integer> code : codes) {
                worst = Math.max(worst, code.get());
            }
            return worst;
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    @Test
    void anInterruptedRunLeavesThoseBeforeIt() throws IOException {
        assertEquals(75, execute((command, environment, log) -> command.contains("--nproc_per_node=1")
            ? trainInThreads(command, environment, log) : 75, "--ranks=1,2", "--num_iters=22"), err::toString);
        assertEquals("isobar: bench scaling: the run of dp 2 ended with code 75, see " + directory.resolve("dp2.log")
            + "; the runs before it are in " + directory, err.toString().strip());
        assertEquals(2, Files.readAllLines(directory.resolve("scaling.csv")).size());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "--along=pp | axes are dp, tp and cp, as in",
        "--ranks=0 | ranks are numbers from 1",
        "--tensor_parallel=2 | bench scaling sets --tensor_parallel itself, by --ranks, --along and --out",
        "--set=run_num=x | bench scaling sets --run_num itself",
        "--ranks=1,3 --along=tp | tensor_parallel is '3' (--tensor_parallel), but num_heads is '2'"})
    void mistakesAreNamedBeforeAnythingRuns(String options, String expected) {
        assertEquals(2, execute((_, _, _) -> {
            throw new IllegalStateException("started");
        }, options.split(" ")));
        assertTrue(err.toString().contains(expected), err::toString);
        assertFalse(Files.exists(directory.resolve("scaling.md")));
    }

    @Test
    void inASlurmJobRanksAreTasks() {
        List<List<String>> commands = new ArrayList<>();
        ProgramContext job = new ProgramContext(Path.of("/opt/isobar"),
            Map.of("SLURM_JOB_ID", "7", "SLURM_STEP_ID", "4294967290")); // the shell of salloc
        assertEquals(1, execute(job, (command, environment, log) -> {
            commands.add(command);
            assertFalse(environment.containsKey("ISOBAR_THREADS"));
            return 1;
        }, "--ranks=4", "--along=cp", "--threads=2", "--set=num_iters=40", "--set=seed=3"));
        List<String> command = commands.getFirst();
        assertEquals(List.of("bash", "-c", "source \"$0/export_DDP_vars.sh\" && exec srun --ntasks=4 "
            + "${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} --kill-on-bad-exit=1 "
            + "bash -c 'source \"$0/export_DDP_vars.sh\" && exec \"$0/isobar\" \"$@\"' \"$0\" \"$@\"",
            "/opt/isobar", "train"), command.subList(0, 5));
        assertTrue(command.containsAll(List.of("--config=tiny", "--threads=2", "--context_parallel=4",
            "--run_num=cp4", "--set=num_heads=2", "--num_iters=40", "--set=seed=3")), command::toString);
        assertFalse(command.contains("--set=num_iters=40"), command::toString);
    }

    private int execute(BenchScalingCommand.Runner runner, String... options) {
        return execute(new ProgramContext(Path.of(".."), Map.of()), runner, options);
    }

    private int execute(ProgramContext context, BenchScalingCommand.Runner runner, String... options) {
        CommandLine command = new CommandLine(new BenchScalingCommand(context, runner));
        ConfigOptions.declare(command.getCommandSpec());
        ValueConverters.register(command);
        command.setCaseInsensitiveEnumValuesAllowed(true).setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err, true)).setExecutionExceptionHandler((failure, line, _) -> {
                line.getErr().println(failure);
                return 2;
            });
        return command.execute(Stream.of(SMALL, List.of(options), List.of("--out=" + directory,
            "--data_dir=" + directory.resolve("data"))).flatMap(List::stream).toArray(String[]::new));
    }
}
