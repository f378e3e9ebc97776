package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.isobar.cli.options.ProgramContext;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** What the program prints and with which code it exits. */
class MainTest {
    private static final Set<String> TUTORIAL_OPTIONS = Set.of("--yaml_config", "--config", "--run_num", "--amp_mode",
        "--enable_fused", "--enable_jit", "--local_batch_size", "--num_iters", "--num_data_workers",
        "--data_loader_config", "--bucket_cap_mb", "--disable_broadcast_buffers", "--noddp", "--tensor_parallel",
        "--row_parallel_size", "--context_parallel", "--parallel_order");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @ParameterizedTest
    @ValueSource(strings = {"--help", "--version", "train --help", "train --version", "data stats --version",
        "config --help", "config", "config --config=demo"})
    void whatWorksExitsWithZero(String line) {
        assertEquals(0, run(line.split(" ")));
        assertFalse(out.toString().isBlank());
        assertEquals("", err.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ''                           | Name a command: train, synthesize, data, verify, doctor, bench, plan, exercise,
        trian                        | isobar: Unmatched argument at index 0: 'trian'. Did you mean 'train'?
        train --num_iter=3           | isobar: Unknown option: '--num_iter=3'. Did you mean '--num_iters'?
        train --enable-fused         | isobar: Unknown option: '--enable-fused'. Did you mean '--enable_fused'?
        train --num_iters            | isobar: Missing required parameter for option '--num_iters' (N).
        train --num_iters=few        | num_iters is 'few' (--num_iters), but it takes a whole number from 1 to 2147
        train --config=demi          | has no preset 'demi'. Did you mean 'demo'?
        train --init_weights=        | isobar: --init_weights is empty. Give it a value, or leave it out.
        config --yaml_config=        | isobar: --yaml_config is empty. Give it a value, or leave it out.
        checkpoint merge x --output= | isobar: Invalid value for option '--output': the path is empty.
        synthesize --data_dir=       | isobar: Invalid value for option '--data_dir': the path is empty.
        synthesize --height=tall     | '--height': 'tall' is not a whole number of at most 2147483647.
        synthesize --seed=1.5        | '--seed': '1.5' is not a whole number of at most 9223372036854775807.
        verify --dropout=few         | '--dropout': 'few' is not a number.
        verify --threads=-2          | isobar: --threads=-2 must be at least 1
        groups --world_size=2000000000 | isobar: --world_size=2000000000: groups of at most 1048576 ranks are printed
        groups --show_weight=3       | isobar: --show_weight=3 is not of the form INxOUT, as 1024x512 is
        launch --nproc_per_node=9999 train | --nproc_per_node=9999: one machine runs at most 1024 processes of a job
        bench report .               | isobar: there are no results in .; name a directory that bench cpu or
        bench report missing         | isobar: cannot read the results in missing: No such file or directory
        train --trace=12-10          | trace is '12-10' (--trace), but it takes a step or a range of at most 100 steps
        report .                     | isobar: . has no metrics.jsonl: it is not the directory of a run, such as logs/
        report missing               | isobar: there is no directory missing; give the directory of a run, such as
        report                       | isobar: Missing required parameter: 'RUN'
        bundle --output=.            | isobar: --output . is a directory; give the name of a file
        verify --device=cuda         | --device cuda: no NVIDIA driver (libcuda.so.1): install NVIDIA's driver
        config @../config/ViT.yaml   | isobar: Unmatched argument at index 1: '@../config/ViT.yaml'
        config --row_parallel_size 4 | world size 1 is not divisible by tp x cp x pp = 4 x 1 x 1 = 4
        """)
    void whatTheUserCanMendExitsWithTwo(String line, String expected) {
        assertEquals(2, run(line == null || line.isEmpty() ? new String[0] : line.split(" ")));
        assertTrue(err.toString().startsWith("isobar: "), err::toString);
        assertTrue(err.toString().contains(expected), err::toString);
        assertFalse(err.toString().contains("\tat "), err::toString);
        assertEquals("", out.toString());
    }

    @Test
    void everyOptionOfTheTutorialExists() {
        for (String command : List.of("train", "config")) {
            Set<String> options = commandLine(Map.of()).getSubcommands().get(command).getCommandSpec().optionsMap()
                .keySet();
            assertTrue(options.containsAll(TUTORIAL_OPTIONS), options::toString);
        }
    }

    @Test
    void valuesMayFollowAnEqualsSignOrABlank() {
        assertEquals(0, run("config", "--config", "demo", "--num_iters", "7",
            "--set", "lr=1e-5", "--enable_fused"));
        assertTrue(out.toString().contains("  num_iters: 7\n"), out::toString);
        assertTrue(out.toString().contains("  lr: 0.000010\n"), out::toString);
        assertTrue(out.toString().contains("# Without effect on the CPU: enable_fused"), out::toString);
    }

    @Test
    void theEnvironmentReachesTheConfiguration() {
        CommandLine main = commandLine(Map.of("LOGDIR", "/scratch/logs"));
        assertEquals(0, Main.execute(main, "config", "--config=mp", "--run_num=07", "--tensor_parallel=1"));
        assertTrue(out.toString().contains("# Writes to /scratch/logs/mp/1MP/07"), out::toString);
    }

    @ParameterizedTest
    @CsvSource({"user, 2, false", "bug, 1, true", "assertion, 1, true"})
    void failuresOfACommand(String kind, int code, boolean stackTrace) {
        CommandLine main = commandLine(Map.of());
        main.addSubcommand(new Failing(kind));
        // A setter reaches the commands that are there when it is called.
        main.setErr(main.getErr()).setExecutionExceptionHandler(main.getExecutionExceptionHandler());
        assertEquals(code, Main.execute(main, "fail"));
        assertTrue(err.toString().contains("what went wrong"), err::toString);
        assertEquals(stackTrace, err.toString().contains("\tat "), err::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "data --help", "data stats --help", "--version train", "train data",
        "launch trian", "doctor train", "trian", ""})
    void commandsThatAreNotNamedAreOutlined(String line) {
        String[] arguments = line.isEmpty() ? new String[0] : line.split(" ");
        int code = run(arguments);
        String text = out.toString() + err;
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        assertEquals(code, Main.execute(commandLine(Map.of()), arguments));
        assertEquals(out.toString() + err, text);
    }

    private int run(String... arguments) {
        ProgramContext context = new ProgramContext(Path.of(".."), Map.of());
        return Main.execute(redirected(Main.commandLine(context, arguments)), arguments);
    }

    private CommandLine commandLine(Map<String, String> environment) {
        return redirected(Main.commandLine(new ProgramContext(Path.of(".."), environment)));
    }

    private CommandLine redirected(CommandLine main) {
        return main
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true));
    }

    /** A command that fails as it is told. */
    @Command(name = "fail")
    private record Failing(String kind) implements Runnable {
        @Override
        public void run() {
            switch (kind) {
                case "user" -> throw new UserException("what went wrong");
                case "bug" -> throw new IllegalStateException("what went wrong");
                default -> throw new AssertionError("what went wrong");
            }
        }
    }
}
