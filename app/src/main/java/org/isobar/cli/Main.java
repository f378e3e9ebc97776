package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.cli.bench.BenchCommand;
import org.isobar.cli.checkpoint.CheckpointCommand;
import org.isobar.cli.data.DataCommand;
import org.isobar.cli.doctor.DoctorCommand;
import org.isobar.cli.job.LaunchCommand;
import org.isobar.cli.job.ParentWatch;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.TildeExpansion;
import org.isobar.cli.options.ValueConverters;
import org.isobar.cli.options.Version;
import org.isobar.cli.plan.PlanCommand;
import org.isobar.cli.verify.VerifyCommand;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.device.DeviceException;
import org.isobar.fault.UserException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The program's entry point. Exit codes: 0 success; 1 unexpected failure, with a stack trace; 2 invalid input (a
 * {@link UserException} or a wrong option), with one line; 75 stopped after saving a checkpoint; 129, 130, 138 and 143
 * terminated by SIGHUP, SIGINT, SIGUSR1 and SIGTERM.
 */
@Command(name = "isobar", description = "Trains vision transformers that forecast the weather.",
    mixinStandardHelpOptions = true, versionProvider = Version.class, synopsisSubcommandLabel = "COMMAND",
    footer = "Start with: isobar train --config=demo")
public final class Main implements Runnable {
    private static final int UNEXPECTED_FAILURE = 1;
    private static final int INVALID_INPUT = 2;

    @Spec
    private CommandSpec spec;

    private Main() { }

    /** Runs one command and exits. The launcher passes its directory as property {@code isobar.home}. */
    public static void main(String[] args) {
        ProgramContext context = new ProgramContext(Path.of(System.getProperty("isobar.home", "")), System.getenv());
        CommandLine main = commandLine(context, args);
        try {
            ParentWatch.begin(context.environment());
        } catch (UserException invalid) {
            System.exit(report(invalid, main));
        }
        System.exit(execute(main, args));
    }

    /** The command line with all commands. */
    public static CommandLine commandLine(ProgramContext context) {
        return commandLine(context, _ -> true);
    }

    /**
     * The command line for these arguments. It has only name and description of commands that they do not name: to
     * declare the options of all commands takes longer than the rest of a short command.
     */
    static CommandLine commandLine(ProgramContext context, String... args) {
        return commandLine(context, List.of(args)::contains);
    }

    private static CommandLine commandLine(ProgramContext context, Predicate<String> named) {
        CommandLine main = new CommandLine(new Main());
        commands(context).forEach((type, command) -> {
            Command described = type.getAnnotation(Command.class);
            main.addSubcommand(described.name(), named.test(described.name()) ? command.get() : outline(described));
        });
        main.setExpandAtFiles(false);
        ValueConverters.register(main);
        main.setCaseInsensitiveEnumValuesAllowed(true);
        main.setParameterExceptionHandler(Main::reject);
        main.setExecutionExceptionHandler((failure, command, parsed) -> report(failure, command));
        return main;
    }

    /** All commands, in the order of the help. */
    private static Map<Class<?>, Supplier<Object>> commands(ProgramContext context) {
        Map<Class<?>, Supplier<Object>> commands = new LinkedHashMap<>();
        commands.put(TrainCommand.class, () -> configured(new TrainCommand(context)));
        commands.put(SynthesizeCommand.class, () -> new SynthesizeCommand());
        commands.put(DataCommand.class, () -> DataCommand.commandLine(context));
        commands.put(VerifyCommand.class, () -> VerifyCommand.commandLine(context));
        commands.put(DoctorCommand.class, () -> DoctorCommand.commandLine(context));
        commands.put(BenchCommand.class, () -> BenchCommand.commandLine(context));
        commands.put(PlanCommand.class, () -> PlanCommand.commandLine(context));
        commands.put(ExerciseCommand.class, () -> new ExerciseCommand());
        commands.put(BundleCommand.class, () -> new BundleCommand(context));
        commands.put(GroupsCommand.class, () -> new GroupsCommand());
        commands.put(LaunchCommand.class, () -> LaunchCommand.commandLine(context));
        commands.put(CheckpointCommand.class, () -> CheckpointCommand.commandLine());
        commands.put(ReplayCommand.class, () -> new ReplayCommand(context));
        commands.put(ReportCommand.class, () -> new ReportCommand());
        commands.put(ExportCommand.class, () -> new ExportCommand(context));
        commands.put(ForecastCommand.class, () -> ForecastCommand.commandLine(context));
        commands.put(EvaluateCommand.class, () -> EvaluateCommand.commandLine(context));
        commands.put(ConfigCommand.class, () -> configured(new ConfigCommand(context)));
        return commands;
    }

    private static CommandSpec outline(Command described) {
        CommandSpec spec = CommandSpec.create();
        spec.usageMessage().description(described.description());
        return spec;
    }

    /** Runs one command and returns its exit code. */
    public static int execute(CommandLine main, String... args) {
        try {
            String home = Objects.requireNonNullElse(System.getenv("HOME"), System.getProperty("user.home"));
            return main.execute(TildeExpansion.apply(args, home));
        } catch (Error e) {
            return report(e, main);
        }
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }

    private static CommandLine configured(Object command) {
        CommandLine commandLine = new CommandLine(command);
        ConfigOptions.declare(commandLine.getCommandSpec());
        return commandLine;
    }

    private static int reject(ParameterException mistake, String[] args) {
        CommandLine command = mistake.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("isobar: " + mistake.getMessage() + "." + hint(mistake));
        err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        err.flush();
        return INVALID_INPUT;
    }

    private static String hint(ParameterException mistake) {
        if (!(mistake instanceof UnmatchedArgumentException unmatched)) {
            return "";
        }
        CommandLine command = mistake.getCommandLine();
        List<String> known = Stream.concat(
            command.getCommandSpec().optionsMap().keySet().stream(),
            command.getSubcommands().keySet().stream()).toList();
        return SpellingSuggestion.hint(unmatched.getUnmatched().getFirst().split("=", 2)[0], known);
    }

    private static int report(Throwable failure, CommandLine command) {
        PrintWriter err = command.getErr();
        if (failure instanceof UserException) {
            err.println("isobar: " + failure.getMessage());
        } else if (failure instanceof DeviceException) {
            err.println("isobar: the device failed: " + failure.getMessage());
        } else {
            err.println("isobar: an unexpected failure; please report it with what follows.");
            failure.printStackTrace(err);
        }
        err.flush();
        return failure instanceof UserException ? INVALID_INPUT : UNEXPECTED_FAILURE;
    }
}
