package org.isobar.cli.verify;

import java.io.PrintWriter;
import java.io.Writer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;
import org.isobar.train.JobMember;
import org.isobar.verify.layout.LayoutCheck;
import org.isobar.verify.layout.LayoutDeviation;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code isobar verify}: the checks that ship with the program. One process checks the arithmetic of its device.
 * Several processes check that the sharded model computes what one process computes. If a check fails, every rank exits
 * with 1.
 */
@Command(name = VerifyCommand.NAME, mixinStandardHelpOptions = true, showDefaultValues = true, sortOptions = false,
    abbreviateSynopsis = true,
    description = {VerifyCommand.SUMMARY,
        "In several processes, started by srun or isobar launch: check that the sharded layers and model compute what "
            + "one process computes.",
        "With --collectives: prove for a job of N processes, without starting it and without data, that all of its "
            + "ranks will issue matching collectives."})
public final class VerifyCommand implements Callable<Integer> {
    public static final String NAME = "verify";
    public static final String SUMMARY = "Check every operation on this machine against double precision, and the "
        + "whole model against PyTorch.";

    /** Samples per replica. More than one, because the layout of messages depends on the batch index. */
    private static final int BATCH = 2;
    /** Every option of a GPU set unlike the defaults of {@link DeviceOptions#of}. */
    private static final CudaOptions OPPOSITE =
        new CudaOptions(Fusion.SEPARATE, SinglePrecision.FULL, QueryGradient.ATOMIC);
    /** GPU options of the layout check: rounding to TF32 would hide errors of sharding. */
    private static final CudaOptions EXACT =
        new CudaOptions(Fusion.FUSED, SinglePrecision.FULL, QueryGradient.DETERMINISTIC);

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;

    @Option(names = "--device", paramLabel = "auto|cpu|cuda", defaultValue = "auto", description = "Device to check.")
    private Backend backend;
    @Option(names = "--threads", paramLabel = "N",
        description = "Compute threads of the CPU (default: ISOBAR_THREADS, else all cores).")
    private Integer threads;
    @Option(names = "--tensor_parallel", paramLabel = "N", defaultValue = "1",
        description = "Processes that share each layer's weights.")
    private int tensorParallel;
    @Option(names = "--context_parallel", paramLabel = "N", defaultValue = "1",
        description = "Processes that share each image's tokens.")
    private int contextParallel;
    @Option(names = "--parallel_order", paramLabel = "AXES", defaultValue = ProcessGrid.DEFAULT_ORDER,
        description = "Order in which ranks fill the process grid, fastest axis first.")
    private String order;
    @Option(names = "--comm_backend", paramLabel = "auto|nccl|host", defaultValue = "auto",
        description = "What carries collectives.")
    private CommBackend carrier;
    @Option(names = "--dropout", paramLabel = "P", defaultValue = "0.1",
        description = "Probability of dropout and drop-path in the compared layers and model.")
    private double dropout;
    @Option(names = "--steps", paramLabel = "N", defaultValue = "3",
        description = "Optimizer steps after which the model's weights are compared.")
    private int steps;

    @Option(names = "--collectives",
        description = "Check the collectives of a training run instead; takes a preset and N.")
    private boolean collectives;
    @Option(names = "--world_size", paramLabel = "N", description = "With --collectives: number of processes.")
    private Integer worldSize;

    private VerifyCommand(ProgramContext context) {
        this.context = context;
    }

    /** The command, with the options that choose a preset for {@code --collectives}. */
    public static CommandLine commandLine(ProgramContext context) {
        CommandLine command = new CommandLine(new VerifyCommand(context));
        ConfigOptions.declareFor(command.getCommandSpec(), List.of());
        return command;
    }

    @Override
    public Integer call() {
        CollectiveCheck check = new CollectiveCheck(spec.commandLine().getParseResult(), context);
        if (collectives) {
            return check.run(Optional.ofNullable(worldSize), spec.commandLine().getOut());
        }
        check.requireNoPreset();
        RankEnvironment ranks = RankEnvironment.of(context.environment());
        check();
        ProcessGrid grid = ProcessGrid.fit(order, ranks.worldSize(), tensorParallel, contextParallel, 1);
        PrintWriter out = ranks.rank() == 0 ? spec.commandLine().getOut() : new PrintWriter(Writer.nullWriter());
        OptionalInt count = ThreadCount.of(Optional.ofNullable(threads), context.environment());
        DeviceOptions options = DeviceOptions.of(count, ranks, carrier, context.environment());
        try {
            boolean holds = ranks.worldSize() == 1 ? arithmetic(options, out) : layout(options, grid, out);
            out.println(holds ? "All checks passed." : "Some checks failed: see FAILED above.");
            out.flush();
            return holds ? 0 : 1;
        } catch (CommunicationException failure) {
            spec.commandLine().getErr().println("isobar: " + failure.getMessage()); // it names the rank
            return 1;
        }
    }

    private void check() {
        if (!(dropout >= 0 && dropout < 1)) {
            throw new UserException("--dropout=" + dropout + " must be at least 0 and less than 1");
        }
        if (steps < 1) {
            throw new UserException("--steps=" + steps + " must be at least 1");
        }
    }

    private boolean layout(DeviceOptions options, ProcessGrid grid, PrintWriter out) {
        Map<String, String> facts = Map.of("command", "verify", "dropout", Double.toString(dropout), "steps",
            Integer.toString(steps));
        JobSecret secret = JobSecret.of(context.environment());
        JobMember member = new JobMember(options.ranks(), grid, secret, facts, TimeLimits.DEFAULT, carrier);
        Rendezvous.notice(options.ranks(), secret).ifPresent(out::println);
        List<LayoutDeviation> results;
        try (JobDevice device = backend.open(options.with(EXACT), out::println)) {
            out.println("Layout: " + grid);
            results = member.run(device,
                communicators -> new LayoutCheck(device, communicators, dropout, BATCH).run(steps));
        }
        LayoutTable table = new LayoutTable(results);
        table.print(out);
        return table.holds();
    }

    /** Checks a CPU once, and a GPU with two sets of options; with the first, a second engine of attention, too. */
    private boolean arithmetic(DeviceOptions options, PrintWriter out) {
        boolean holds;
        try (Device device = backend.open(options, out::println)) {
            if (Backend.of(device) == Backend.CPU) {
                return new ArithmeticCheck(device, out).run();
            }
            out.println(describe(options.cuda()));
            device.compileAhead();
            ArithmeticCheck check = new ArithmeticCheck(device, out);
            holds = check.run() & check.runSecondAttention();
        }
        try (Device device = backend.open(options.with(OPPOSITE), line -> { })) {
            out.println(describe(OPPOSITE));
            device.compileAhead();
            return new ArithmeticCheck(device, out).run() && holds;
        }
    }

    private static String describe(CudaOptions options) {
        return switch (options.fusion()) {
            case FUSED -> "Fused kernels";
            case SEPARATE -> "One kernel per operation";
        } + switch (options.single()) {
            case TF32 -> ", fp32 products in TF32:";
            case FULL -> ", fp32 products in full precision:";
        };
    }
}
