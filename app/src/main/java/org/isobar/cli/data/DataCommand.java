package org.isobar.cli.data;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code isobar data}: prepares weather files for training and evaluation. */
@Command(name = DataCommand.NAME, mixinStandardHelpOptions = true, synopsisSubcommandLabel = "COMMAND",
    description = DataCommand.SUMMARY)
public final class DataCommand implements Runnable {
    public static final String NAME = "data";
    public static final String SUMMARY = "Convert weather files, look into them, and compute their statistics and "
        + "climatology.";

    @Spec
    private CommandSpec spec;

    private DataCommand() { }

    /** The command with its subcommands. */
    public static CommandLine commandLine(ProgramContext context) {
        CommandLine climatology = new CommandLine(new ClimatologyCommand(context));
        ConfigOptions.declareFor(climatology.getCommandSpec(), ClimatologyCommand.KEYS);
        return new CommandLine(new DataCommand()).addSubcommand(new InspectCommand(context))
            .addSubcommand(new StatsCommand(context)).addSubcommand(climatology)
            .addSubcommand(new ConvertCommand(context));
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }
}
