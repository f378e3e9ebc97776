package org.isobar.cli.options;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The options that each command has, for commands without annotations. Java generates a class for each kind of
 * annotation that it reads, which took a quarter of the time of {@code isobar --help}.
 */
public final class StandardOptions {
    private StandardOptions() { }

    /** Adds what {@code mixinStandardHelpOptions} adds. */
    public static void declare(CommandSpec spec) {
        spec.addOption(OptionSpec.builder("-h", "--help").usageHelp(true)
            .description("Show this help message and exit.").build());
        spec.addOption(OptionSpec.builder("-V", "--version").versionHelp(true)
            .description("Print version information and exit.").build());
    }
}
