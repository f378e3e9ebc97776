package org.isobar.cli;

import org.isobar.train.TrainingRun;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code isobar train}: resolves the configuration, then trains. */
@Command(name = "train", description = "Train a preset.", sortOptions = false, abbreviateSynopsis = true,
    mixinStandardHelpOptions = true)
final class TrainCommand implements Runnable {
    private final Launch launch;
    @Spec
    private CommandSpec spec;

    TrainCommand(Launch launch) {
        this.launch = launch;
    }

    @Override
    public void run() {
        TrainingRun.run(ConfigOptions.resolve(spec.commandLine().getParseResult(), launch));
    }
}
