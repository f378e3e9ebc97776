package org.isobar.cli;

import java.util.concurrent.Callable;

import org.isobar.distributed.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.Interruption;
import org.isobar.train.TrainingRun;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code isobar train}: resolves the configuration, then trains. */
@Command(name = "train", description = "Train a preset.", sortOptions = false, abbreviateSynopsis = true,
    mixinStandardHelpOptions = true)
final class TrainCommand implements Callable<Integer> {
    private final Launch launch;
    @Spec
    private CommandSpec spec;

    TrainCommand(Launch launch) {
        this.launch = launch;
    }

    @Override
    public Integer call() {
        return TrainingRun.run(ConfigOptions.resolve(spec.commandLine().getParseResult(), launch),
            new TrainingRun.Surroundings(JobSecret.of(launch.environment()), launch.environment(),
                Screen.standard(launch.environment()), Interruption.NONE));
    }
}
