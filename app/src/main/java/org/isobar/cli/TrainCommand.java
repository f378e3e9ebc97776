package org.isobar.cli;

import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

import org.isobar.cli.job.ParentWatch;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.StandardOptions;
import org.isobar.cli.signal.StopSignals;
import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.plan.MachineExpectation;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TrainingRun;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** {@code isobar train}: resolves the configuration, then trains. */
final class TrainCommand implements Callable<Integer> {
    static final String NAME = "train";
    static final String SUMMARY = "Train the model of a preset.";

    private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);
    private final ProgramContext context;

    private TrainCommand(ProgramContext context) {
        this.context = context;
    }

    static CommandLine commandLine(ProgramContext context) {
        CommandSpec spec = new TrainCommand(context).spec.name(NAME);
        spec.usageMessage().description(SUMMARY).sortOptions(false).abbreviateSynopsis(true);
        StandardOptions.declare(spec);
        ConfigOptions.declare(spec);
        return new CommandLine(spec);
    }

    @Override
    public Integer call() {
        RunConfig config = ConfigOptions.resolve(spec.commandLine().getParseResult(), context);
        Screen screen = Screen.standard(context.environment());
        StopSignals signals = new StopSignals(config.ranks().rank() == 0 ? screen::printLine : _ -> { },
            ParentWatch.isLaunched(context.environment()) ? StopSignals.Sender.LAUNCHER : StopSignals.Sender.ANYONE);
        return TrainingRun.run(config, new RunContext(JobSecret.of(context.environment()),
            context.environment(), screen, signals, UnaryOperator.identity(), expectation(config)));
    }

    /** Rank 0 alone logs it, so other ranks need no machine file. */
    private RunContext.Expectation expectation(RunConfig config) {
        return config.ranks().rank() == 0 ? MachineExpectation.of(context.environment(), context.home())
            : RunContext.Expectation.NONE;
    }
}
