package org.isobar.cli.plan;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.bench.report.BenchFiles;
import org.isobar.cli.job.JavaCommand;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.print.FactTable;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.yaml.YamlFile;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.plan.Plan;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Planner;
import org.isobar.plan.Program;
import org.isobar.plan.RunCheck;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.report.PlanExplanation;
import org.isobar.plan.report.PlanFile;
import org.isobar.plan.report.PlanPicture;
import org.isobar.plan.report.PlanText;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** {@code isobar plan}: predicts memory and speed of a run in every layout of its processes. */
@Command(name = PlanCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false, abbreviateSynopsis = true,
    description = PlanCommand.SUMMARY)
public final class PlanCommand implements Runnable {
    public static final String NAME = "plan";
    public static final String SUMMARY = "Predict memory and speed of a run in every layout of its processes. Needs "
        + "no data and no GPU.";
    private static final int MOST_RANKS = 1 << 16;
    /** Keys that follow from the layout, or that the layouts differ in. */
    private static final Set<String> LAYOUT = Set.of("tensor_parallel", "context_parallel", "parallel_order",
        "pipeline_parallel", "local_batch_size", "run_num", "resume", "noddp");
    private static final String GLOBAL_BATCH = "global_batch_size";
    /** Keys of the layout, and what sets them in a plan. */
    private static final Map<String, String> FIXED_BY = Map.of("tensor_parallel", "give it --tensor_parallel",
        "context_parallel", "give it --context_parallel", "parallel_order", "give it --parallel_order",
        "local_batch_size", "give it --global_batch_size", "noddp", "it plans replicas of one model");
    private static final Set<String> VARIED = Set.of("amp_mode", "recompute", "enable_cuda_graphs",
        "accumulate_steps");

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--machine", paramLabel = "NAME|FILE", description = "A machine file, or one that is shipped: "
        + "cpu-2-cores, perlmutter-a100-40, perlmutter-a100-80, h100-sxm, h100-nvl.")
    private String machine;
    @Option(names = "--gpus", paramLabel = "N", description = "Number of GPUs; on a CPU, of processes.")
    private Integer ranks;
    @Option(names = "--program", paramLabel = "isobar|tutorial", defaultValue = "isobar",
        description = "The program that runs: this one, or the tutorial's PyTorch program (default: isobar).")
    private Program program;
    @Option(names = "--global_batch_size", paramLabel = "N", description = "Samples of all replicas in each step "
        + "(default: the preset's).")
    private Integer globalBatch;
    @Option(names = {"--tensor_parallel", "--row_parallel_size"}, paramLabel = "N",
        description = "Plan only layouts with N ranks that share weights.")
    private Integer tensorParallel;
    @Option(names = "--context_parallel", paramLabel = "N",
        description = "Plan only layouts with N ranks that share tokens.")
    private Integer contextParallel;
    @Option(names = "--parallel_order", paramLabel = "AXES", description = "Plan only this order of the axes.")
    private String order;
    @Option(names = "--json", paramLabel = "FILE", description = "Write all layouts to FILE.")
    private Path json;
    @Option(names = "--svg", paramLabel = "FILE", description = "Draw the plan to FILE.")
    private Path svg;
    @Option(names = "--explain", paramLabel = "TPxCPxDP", description = "Explain the prediction for a layout.")
    private String explained;

    @Option(names = "--check", paramLabel = "RUN", description = "Compare the prediction of --machine with a finished "
        + "run: its directory, such as logs/demo/1GPU/00.")
    private Path checked;

    @Option(names = "--validate", paramLabel = "FILE", description = "Write to FILE how well recorded runs are "
        + "predicted.")
    private Path validated;
    @Option(names = "--validate_calibrations", paramLabel = "ROUNDS", arity = "0..1", fallbackValue = "3",
        description = "With --validate: also calibrate this machine in ROUNDS rounds, measure steps of its CPU in turn "
        + "with each calibration, and take the medians of the rounds (default: ${FALLBACK-VALUE} rounds).")
    private Integer calibrations;
    @Option(names = "--validate_ranks", description = "With --validate_calibrations: also measure training steps in "
        + "each layout of 2 and 4 processes of this machine, for some minutes more.")
    private boolean validatesRanks;

    private PlanCommand(ProgramContext context) {
        this.context = context;
    }

    /** The command, with the options of a run. */
    public static CommandLine commandLine(ProgramContext context) {
        CommandLine command = new CommandLine(new PlanCommand(context));
        ConfigOptions.declareFor(command.getCommandSpec(),
            Keys.ALL.stream().filter(key -> !LAYOUT.contains(key.name())).<Key<?>>map(key -> key).toList());
        return command;
    }

    @Override
    public void run() {
        PrintWriter out = spec.commandLine().getOut();
        if (checked != null) {
            check(out);
            return;
        }
        if (validated != null) {
            validate(out);
            return;
        }
        ConfigRequest run = run(spec.commandLine().getParseResult());
        Plan plan = Planner.plan(request(run));
        PlanText text = new PlanText(plan, new YamlFile(run.yamlFile()).preset(run.preset()).keySet());
        text.introduction().forEach(out::println);
        List<List<String>> table = new ArrayList<>(List.of(text.columns()));
        table.addAll(text.rows());
        new FactTable(out).table(table);
        text.conclusion(given()).forEach(out::println);
        if (explained != null) {
            PlanExplanation.of(plan, explained).forEach(out::println);
        }
        if (json != null) {
            BenchFiles.write(json, PlanFile.of(plan));
        }
        if (svg != null) {
            new AtomicFile("picture", svg, "--svg").write(PlanPicture.of(plan).getBytes(StandardCharsets.UTF_8));
        }
        out.flush();
    }

    private void validate(PrintWriter out) {
        if (machine != null) {
            throw new UserException("--validate takes no --machine: recorded runs are of shipped machines, and "
                + "--validate_calibrations measures this one");
        }
        if (calibrations != null && calibrations < 1) {
            throw new UserException("--validate_calibrations=" + calibrations + " must be at least 1");
        }
        if (validatesRanks && calibrations == null) {
            throw new UserException("--validate_ranks needs --validate_calibrations, with which it is compared");
        }
        List<String> self = JavaCommand.command(spec.root().userObject().getClass());
        PlanValidation.write(validated, Collections.nCopies(calibrations == null ? 0 : calibrations,
            () -> PlanValidation.calibrated(self, validatesRanks, out)), context, out);
    }

    private void check(PrintWriter out) {
        if (machine == null) {
            throw new UserException("--check needs --machine, a machine file or one of "
                + String.join(", ", MachineFile.SHIPPED));
        }
        Machine known = MachineFile.load(machine);
        RunCheck check = RunCheck.of(checked, known);
        out.printf(Locale.ROOT, "%s: predicted %.4g samples/s (%.4g to %.4g)%s%n", check.planned().layout(),
            check.planned().samplesPerSecond(), check.planned().low(), check.planned().high(),
            known.isGpu() ? ", " + PlanText.UNVALIDATED : "");
        out.printf(Locale.ROOT, "Measured %.4g samples/s, the median of %d epochs: the prediction is %+.1f %% off%n",
            check.samplesPerSecond(), check.epochs(), 100 * check.error());
        out.println("Predicted step: " + PlanText.breakdown(check.planned()));
        out.flush();
    }

    /** Options of the run that its command repeats. */
    private List<String> given() {
        List<String> options = new ArrayList<>();
        ParseResult parsed = spec.commandLine().getParseResult();
        String file = parsed.matchedOptionValue("--yaml_config", "");
        if (!file.isEmpty()) {
            options.add("--yaml_config=" + file);
        }
        ConfigOptions.settings(parsed).forEach((key, value) -> {
            boolean isSwitch = parsed.commandSpec().findOption("--" + key).arity().max() == 0;
            options.add(isSwitch ? "--" + key : "--" + key + "=" + value);
        });
        List<String> set = parsed.matchedOptionValue("--set", List.of());
        set.forEach(assignment -> options.addAll(List.of("--set", assignment)));
        if (globalBatch != null) {
            options.addAll(List.of("--set", GLOBAL_BATCH + "=" + globalBatch));
        }
        return options;
    }

    /** The run whose layout is planned, outside a job. */
    private ConfigRequest run(ParseResult parsed) {
        Map<String, String> environment = new HashMap<>(context.environment());
        environment.keySet().removeAll(Set.of("RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_PROCID", "SLURM_NTASKS"));
        ConfigRequest run = ConfigOptions.request(parsed, new ProgramContext(context.home(), environment));
        checkLayoutIsNotSet(run);
        return run;
    }

    private PlanRequest request(ConfigRequest run) {
        if (machine == null || ranks == null) {
            throw new UserException("plan needs --machine, one of " + String.join(", ", MachineFile.SHIPPED)
                + " or a file, and --gpus, the number of GPUs");
        }
        if (ranks < 1 || ranks > MOST_RANKS) {
            throw new UserException("--gpus=" + ranks + ": from 1 to " + MOST_RANKS + " are planned");
        }
        Machine known = MachineFile.load(machine);
        RunConfig config = ConfigLoader.load(PlanRequest.ofOneProcess(globalBatch == null ? run
            : run.with(GLOBAL_BATCH, globalBatch.toString())));
        return new PlanRequest(config, known, program, ranks, new PlanRequest.Fixed(
            positive("--tensor_parallel", tensorParallel), positive("--context_parallel", contextParallel),
            Optional.ofNullable(order), varied(run)));
    }

    private static Optional<Integer> positive(String option, Integer value) {
        if (value != null && value < 1) {
            throw new UserException(option + "=" + value + " must be at least 1");
        }
        return Optional.ofNullable(value);
    }

    /** The layout follows from the options of plan: a value of {@code --set} would override the one that is planned. */
    private static void checkLayoutIsNotSet(ConfigRequest request) {
        request.overrides().keySet().stream().filter(FIXED_BY::containsKey).findFirst().ifPresent(key -> {
            throw new UserException("plan takes no --set " + key + "; " + FIXED_BY.get(key));
        });
    }

    /** Keys with a given value, of which no other is planned. */
    private static Set<String> varied(ConfigRequest request) {
        return request.overrides().keySet().stream().filter(VARIED::contains).collect(Collectors.toUnmodifiableSet());
    }
}
