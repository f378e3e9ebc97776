package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
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
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.StandardOptions;
import org.isobar.cli.options.TildeExpansion;
import org.isobar.cli.options.ValueConverters;
import org.isobar.cli.options.Version;
import org.isobar.cli.plan.PlanCommand;
import org.isobar.cli.verify.VerifyCommand;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.device.DeviceException;
import org.isobar.fault.UserException;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The program's entry point. Exit codes: 0 success; 1 unexpected failure, with a stack trace; 2 invalid input (a
 * {@link UserException} or a wrong option), with one line; 75 stopped after saving a checkpoint; 129, 130, 138 and 143
 * terminated by SIGHUP, SIGINT, SIGUSR1 and SIGTERM.
 */
public final class Main implements Runnable {
    private static final int UNEXPECTED_FAILURE = 1;
    private static final int INVALID_INPUT = 2;

    private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

    /** The program without its commands. */
    private Main() {
        spec.name("isobar").usageMessage().description("Trains vision transformers that forecast the weather.")
            .synopsisSubcommandLabel("COMMAND").footer("Start with: isobar train --config=demo");
        StandardOptions.declare(spec);
    }

    /** Runs one command and exits. The launcher passes its directory as property {@code isobar.home}. */
    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT); // output and files have the same digits everywhere
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
        CommandLine main = new CommandLine(new Main().spec);
        commands(context).forEach(command ->
            main.addSubcommand(command.name, named.test(command.name) ? command.make.get() : command.outline()));
        provideVersion(main);
        main.setExpandAtFiles(false);
        ValueConverters.register(main);
        main.setCaseInsensitiveEnumValuesAllowed(true);
        main.setParameterExceptionHandler(Main::reject);
        main.setExecutionExceptionHandler((failure, command, parsed) -> report(failure, command));
        return main;
    }

    private static void provideVersion(CommandLine command) {
        command.getCommandSpec().versionProvider(new Version());
        command.getSubcommands().values().forEach(Main::provideVersion);
    }

    /**
     * A command of the program.
     *
     * @param make creates it with its options, which loads its class
     */
    private record Subcommand(String name, String summary, Supplier<Object> make) {
        CommandSpec outline() {
            CommandSpec spec = CommandSpec.create();
            spec.usageMessage().description(summary);
            return spec;
        }
    }

    /** All commands, in the order of the help. Their names and summaries are constants, which load no class. */
    private static List<Subcommand> commands(ProgramContext context) {
        return List.of(
            new Subcommand(TrainCommand.NAME, TrainCommand.SUMMARY, () -> TrainCommand.commandLine(context)),
            new Subcommand(SynthesizeCommand.NAME, SynthesizeCommand.SUMMARY, () -> new SynthesizeCommand(context)),
            new Subcommand(DataCommand.NAME, DataCommand.SUMMARY, () -> DataCommand.commandLine(context)),
            new Subcommand(VerifyCommand.NAME, VerifyCommand.SUMMARY, () -> VerifyCommand.commandLine(context)),
            new Subcommand(DoctorCommand.NAME, DoctorCommand.SUMMARY, () -> DoctorCommand.commandLine(context)),
            new Subcommand(BenchCommand.NAME, BenchCommand.SUMMARY, () -> BenchCommand.commandLine(context)),
            new Subcommand(PlanCommand.NAME, PlanCommand.SUMMARY, () -> PlanCommand.commandLine(context)),
            new Subcommand(ExerciseCommand.NAME, ExerciseCommand.SUMMARY, () -> new ExerciseCommand()),
            new Subcommand(BundleCommand.NAME, BundleCommand.SUMMARY, () -> new BundleCommand(context)),
            new Subcommand(GroupsCommand.NAME, GroupsCommand.SUMMARY, () -> new GroupsCommand()),
            new Subcommand(LaunchCommand.NAME, LaunchCommand.SUMMARY, () -> LaunchCommand.commandLine(context)),
            new Subcommand(CheckpointCommand.NAME, CheckpointCommand.SUMMARY, () -> CheckpointCommand.commandLine()),
            new Subcommand(ReplayCommand.NAME, ReplayCommand.SUMMARY, () -> new ReplayCommand(context)),
            new Subcommand(ReportCommand.NAME, ReportCommand.SUMMARY, () -> new ReportCommand()),
            new Subcommand(ExportCommand.NAME, ExportCommand.SUMMARY, () -> new ExportCommand(context)),
            new Subcommand(ForecastCommand.NAME, ForecastCommand.SUMMARY, () -> ForecastCommand.commandLine(context)),
            new Subcommand(EvaluateCommand.NAME, EvaluateCommand.SUMMARY, () -> EvaluateCommand.commandLine(context)),
            new Subcommand(ConfigCommand.NAME, ConfigCommand.SUMMARY, () -> ConfigCommand.commandLine(context)));
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
