package org.isobar.cli;

import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

import org.isobar.cli.job.ParentWatch;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.signal.StopSignals;
import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.plan.MachineExpectation;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TrainingRun;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code isobar train}: resolves the configuration, then trains. */
@Command(name = TrainCommand.NAME, description = TrainCommand.SUMMARY, sortOptions = false, abbreviateSynopsis = true,
    mixinStandardHelpOptions = true)
final class TrainCommand implements Callable<Integer> {
    static final String NAME = "train";
    static final String SUMMARY = "Train the model of a preset.";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;

    TrainCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        RunConfig config = ConfigOptions.resolve(spec.commandLine().getParseResult(), context);
        Screen screen = Screen.standard(context.environment());
        StopSignals signals = new StopSignals(config.ranks().rank() == 0 ? screen::printLine : _ -> { },
            ParentWatch.isLaunched(context.environment()) ? StopSignals.Sender.LAUNCHER : StopSignals.Sender.ANYONE);
        return TrainingRun.run(config, new RunContext(JobSecret.of(context.environment()),
            context.environment(), screen, signals, UnaryOperator.identity(),
            MachineExpectation.of(context.environment(), context.home())));
    }
}
