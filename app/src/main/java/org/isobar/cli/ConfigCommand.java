package org.isobar.cli;

import java.io.PrintWriter;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.RunConfig;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code isobar config}: prints the configuration that {@code train} would run with, as a file of one preset. */
@Command(name = ConfigCommand.NAME, description = ConfigCommand.SUMMARY, sortOptions = false,
    abbreviateSynopsis = true, mixinStandardHelpOptions = true)
final class ConfigCommand implements Runnable {
    static final String NAME = "config";
    static final String SUMMARY = "Print the configuration that train would run with, as a YAML file of presets.";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;

    private ConfigCommand(ProgramContext context) {
        this.context = context;
    }

    static CommandLine commandLine(ProgramContext context) {
        CommandLine command = new CommandLine(new ConfigCommand(context));
        ConfigOptions.declare(command.getCommandSpec());
        return command;
    }

    @Override
    public void run() {
        RunConfig config = ConfigOptions.resolve(spec.commandLine().getParseResult(), context);
        PrintWriter out = spec.commandLine().getOut();
        out.print(config.yaml());
        out.println("# Writes to " + config.output().experimentDirectory());
        Stream.of(Backend.CPU, Backend.CUDA).filter(backend -> Set.of(backend, Backend.AUTO).contains(config.device()))
            .flatMap(backend -> config.warning(backend).stream()).forEach(line -> out.println("# " + line));
        out.flush();
    }
}
