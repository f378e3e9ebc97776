package org.isobar.cli.bench;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;

import org.isobar.bench.report.ScalingRun;
import org.isobar.bench.report.ScalingStudy;
import org.isobar.cli.job.JavaCommand;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.signal.ProcessSignal;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.ThreadCount;
import org.isobar.config.keys.Key;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bench scaling}: trains a preset on different numbers of ranks, and draws what comes. */
@Command(name = "scaling", mixinStandardHelpOptions = true, sortOptions = false, abbreviateSynopsis = true,
    description = "Train a preset on several numbers of ranks and draw throughput, efficiency, time, loss and memory. "
        + "Runs on this machine or, in the shell of a Slurm job, with srun. Takes the options of train.")
final class BenchScalingCommand implements Callable<Integer> {
    private static final Set<String> AXES = Set.of("dp", "tp", "cp");
    private static final Set<String> OURS = Set.of("expdir", "run_num", "tensor_parallel", "context_parallel",
        "local_batch_size", "resume");
    private static final String STEPS = "--num_iters";
    private static final String SET = "--set";

    private final ProgramContext context;
    private final Runner runner;
    @Spec
    private CommandSpec spec;
    @Option(names = "--ranks", paramLabel = "N,N...", split = ",", defaultValue = "1,2,4",
        description = "Numbers of ranks (default: ${DEFAULT-VALUE}).")
    private List<Integer> ranks;
    @Option(names = "--along", paramLabel = "AXIS,AXIS...", split = ",", defaultValue = "dp",
        description = "Axes: dp, with a fixed local batch (weak scaling) and as many samples in all; tp and cp, with a "
            + "fixed global batch (strong scaling) (default: ${DEFAULT-VALUE}).")
    private List<String> along;
    @Option(names = "--lr_rule", paramLabel = "none|linear|sqrt", defaultValue = "sqrt",
        description = "How the learning rate follows the global batch along dp (default: ${DEFAULT-VALUE}).")
    private ScalingLayout.LrRule rule;
    @Option(names = "--out", paramLabel = "DIR", defaultValue = "scaling",
        description = "Directory for scaling.svg, scaling.md, scaling.csv, the runs and their output "
            + "(default: ${DEFAULT-VALUE}).")
    private Path out;

    /** Runs a command; returns its exit code. */
    interface Runner {
        int run(List<String> command, Map<String, String> environment, Path log) throws IOException,
            InterruptedException;
    }

    BenchScalingCommand(ProgramContext context, Runner runner) {
        this.context = context;
        this.runner = runner;
    }

    @Override
    public Integer call() throws InterruptedException {
        List<ScalingLayout> layouts = layouts();
        Map<String, String> environment = new HashMap<>(context.environment());
        boolean slurm = environment.containsKey("SLURM_JOB_ID") && !RankEnvironment.isSlurmTask(environment);
        if (!slurm) {
            ThreadCount.share(environment, layouts.stream().mapToInt(ScalingLayout::ranks).max().orElseThrow());
        }
        List<String> notes = notes(slurm, environment.get("ISOBAR_THREADS"));
        List<String> program = JavaCommand.command(spec.root().userObject().getClass());
        PrintWriter printer = spec.commandLine().getOut();
        List<ScalingRun> finished = new ArrayList<>();
        for (ScalingLayout layout : layouts) {
            Path log = out.resolve(layout.config().output().runNum() + ".log");
            printer.println(layout.name() + ": output in " + log);
            printer.flush();
            int code = run(slurm ? layout.srun(context.home(), given()) : layout.launch(program, given()), environment,
                log);
            if (code != 0) {
                spec.commandLine().getErr().println("isobar: bench scaling: the run of " + layout.name()
                    + " ended with code " + code + ", see " + log + "; "
                    + (finished.isEmpty() ? "no run has finished" : "the runs before it are in " + out));
                spec.commandLine().getErr().flush();
                write(finished, layouts, notes, printer);
                return code;
            }
            finished.add(ScalingRun.read(layout.directory(), layout.axis()));
        }
        write(finished, layouts, notes, printer);
        return 0;
    }

    /** One rank, which all axes share, and then the larger numbers of ranks along each axis. */
    private List<ScalingLayout> layouts() {
        if (!AXES.containsAll(along) || along.isEmpty() || ranks.isEmpty() || ranks.stream().anyMatch(n -> n < 1)) {
            throw new UserException("--ranks=" + ranks + " --along=" + along
                + ": ranks are numbers from 1, and axes are dp, tp and cp, as in --ranks=1,2,4 --along=dp,tp");
        }
        ConfigRequest request = ConfigOptions.request(spec.commandLine().getParseResult(),
            new ProgramContext(context.home(), Map.of()));
        request.overrides().keySet().stream().filter(OURS::contains).findFirst().ifPresent(key -> {
            throw new UserException("bench scaling sets --" + key + " itself, by --ranks, --along and --out");
        });
        RunConfig one = ConfigLoader.load(request);
        List<ScalingLayout> layouts = new ArrayList<>();
        Set<Integer> numbers = new TreeSet<>(ranks);
        if (numbers.remove(1)) {
            layouts.add(ScalingLayout.of("", 1, request, one, rule, out));
        }
        for (String axis : along.stream().distinct().toList()) {
            numbers.forEach(number -> layouts.add(ScalingLayout.of(axis, number, request, one, rule, out)));
        }
        return layouts;
    }

    /** The options of train that were given, as they are passed on: without the steps, which each layout sets. */
    private List<String> given() {
        List<String> options = new ArrayList<>();
        for (OptionSpec option : spec.commandLine().getParseResult().matchedOptions()) {
            boolean ofTrain = option.userObject() instanceof Key<?>
                || Set.of("--config", "--yaml_config", SET).contains(option.longestName());
            if (ofTrain && !option.longestName().equals(STEPS)) {
                if (option.arity().max() == 0) {
                    options.add(option.longestName());
                } else {
                    option.originalStringValues().stream()
                        .filter(value -> !option.longestName().equals(SET) || !isSteps(value))
                        .forEach(value -> options.add(option.longestName() + "=" + value));
                }
            }
        }
        return options;
    }

    private static boolean isSteps(String assignment) {
        return STEPS.equals("--" + assignment.split("=", 2)[0].strip());
    }

    private List<String> notes(boolean slurm, String threads) {
        List<String> notes = new ArrayList<>(List.of("samples/s: median of the epochs without the first; speed-up and "
            + "efficiency: relative to the first row", "options: " + String.join(" ", given())));
        if (along.contains("dp")) {
            notes.add("dp: weak scaling, fixed local batch, as many samples in all; learning rate by rule "
                + rule.name().toLowerCase(Locale.ROOT));
        }
        if (along.contains("tp") || along.contains("cp")) {
            notes.add("tp, cp: strong scaling, fixed global batch");
        }
        notes.add(slurm ? "started with srun" : "all ranks on this machine of "
            + Runtime.getRuntime().availableProcessors() + " processors, " + threads
            + " compute threads each in every run");
        return notes;
    }

    private int run(List<String> command, Map<String, String> environment, Path log) throws InterruptedException {
        try {
            Files.createDirectories(out);
            return runner.run(command, environment, log);
        } catch (IOException failure) {
            throw FileFault.unwritable("output " + log, "--out", failure);
        }
    }

    private void write(List<ScalingRun> finished, List<ScalingLayout> layouts, List<String> notes,
        PrintWriter printer) {
        if (!finished.isEmpty()) {
            new ScalingStudy(layouts.getFirst().config().name(), notes, finished).write(out)
                .forEach(file -> printer.println("Wrote " + file));
            printer.flush();
        }
    }

    /** Runs a process; signals that ask this process to stop are passed on to it, and its exit code tells of them. */
    static int process(List<String> command, Map<String, String> environment, Path log) throws IOException,
        InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"))
            .redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        Process process = builder.start();
        for (ProcessSignal signal : ProcessSignal.values()) {
            signal.handle(() -> process.toHandle().destroy());
        }
        Thread hook = new Thread(process::destroy, "end of a run");
        Runtime.getRuntime().addShutdownHook(hook);
        int code = process.waitFor();
        Runtime.getRuntime().removeShutdownHook(hook);
        return code;
    }
}
