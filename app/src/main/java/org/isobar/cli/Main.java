package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.cli.bench.BenchCommand;
import org.isobar.cli.checkpoint.CheckpointCommand;
import org.isobar.cli.doctor.DoctorCommand;
import org.isobar.cli.job.LaunchCommand;
import org.isobar.cli.job.ParentWatch;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.Version;
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
 * The program. Exit codes: 0 done; 2 the user can mend it (a {@link UserException} or a wrong option), told in one
 * message; 75 interrupted after a checkpoint was saved; 1 a failure of ours, with its stack trace; 130, 138 and 143
 * ended by SIGINT, SIGUSR1 and SIGTERM.
 */
@Command(name = "isobar", description = "Trains vision transformers that forecast the weather.",
    mixinStandardHelpOptions = true, versionProvider = Version.class, synopsisSubcommandLabel = "COMMAND",
    footer = "Start with: isobar train --config=demo")
public final class Main implements Runnable {
    private static final int OUR_FAILURE = 1;
    private static final int USER_CAN_MEND = 2;

    @Spec
    private CommandSpec spec;

    private Main() { }

    /** Runs one command and exits. The launcher says in property {@code isobar.home} where it lies. */
    public static void main(String[] args) {
        ParentWatch.begin(System.getenv());
        ProgramContext launch = new ProgramContext(Path.of(System.getProperty("isobar.home", "")), System.getenv());
        System.exit(execute(commandLine(launch), args));
    }

    /** The one place where commands are registered. */
    public static CommandLine commandLine(ProgramContext launch) {
        CommandLine main = new CommandLine(new Main())
            .addSubcommand(configured(new TrainCommand(launch)))
            .addSubcommand(new SynthesizeCommand())
            .addSubcommand(new VerifyCommand(launch))
            .addSubcommand(new DoctorCommand(launch))
            .addSubcommand(BenchCommand.commandLine(launch))
            .addSubcommand(new BundleCommand(launch))
            .addSubcommand(new GroupsCommand())
            .addSubcommand(LaunchCommand.commandLine(launch))
            .addSubcommand(CheckpointCommand.commandLine())
            .addSubcommand(new ReplayCommand(launch))
            .addSubcommand(configured(new ConfigCommand(launch)));
        main.setCaseInsensitiveEnumValuesAllowed(true);
        main.setParameterExceptionHandler(Main::reject);
        main.setExecutionExceptionHandler((failure, command, parsed) -> report(failure, command));
        return main;
    }

    public static int execute(CommandLine main, String... args) {
        try {
            return main.execute(args);
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
        return USER_CAN_MEND;
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
        return failure instanceof UserException ? USER_CAN_MEND : OUR_FAILURE;
    }
}
