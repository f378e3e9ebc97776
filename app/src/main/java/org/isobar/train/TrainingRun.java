package org.isobar.train;

import org.isobar.config.RunConfig;

/** One training run from its configuration to its end. */
public final class TrainingRun {
    private TrainingRun() { }

    /** Prints the configuration block and the warnings. */
    public static void run(RunConfig config) {
        config.block().forEach(System.out::println);
        config.warnings().forEach(System.out::println);
    }
}
