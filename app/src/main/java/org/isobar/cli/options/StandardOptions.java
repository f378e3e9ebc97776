package org.isobar.cli.options;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The options that each command has, for commands without annotations. To read the first annotation of a kind, Java
 * generates a class, which would take a quarter of the time of {@code isobar --help}.
 */
public final class StandardOptions {
    private StandardOptions() { }

    /** Adds what {@code mixinStandardHelpOptions} adds, and the program's version. */
    public static void declare(CommandSpec spec) {
        spec.versionProvider(new Version());
        spec.addOption(OptionSpec.builder("-h", "--help").usageHelp(true)
            .description("Show this help message and exit.").build());
        spec.addOption(OptionSpec.builder("-V", "--version").versionHelp(true)
            .description("Print version information and exit.").build());
    }
}
