package org.isobar.cli.doctor;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.GpuFindings;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.os.ProgramVersion;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Checks before a job's tasks start whether a command can compute on the device that it asks for. It runs in the shell
 * of the job, whose environment is like that of rank 0.
 */
final class CommandCheck {
    private static final String NO_DEVICE = "no device is needed";

    private final CommandLine main;
    private final ProgramContext context;

    CommandCheck(ProgramContext context, CommandLine main) {
        this.main = main;
        Map<String, String> environment = new HashMap<>(context.environment());
        environment.remove("SLURM_PROCID"); // with it, RankEnvironment would take this for the shell of a job
        environment.putIfAbsent("RANK", "0");
        environment.putIfAbsent("MASTER_ADDR", "localhost");
        this.context = new ProgramContext(context.home(), environment);
    }

    /**
     * What the command would compute on here, in one line.
     *
     * @throws ParameterException if the command or one of its options does not exist
     * @throws UserException if its configuration is wrong, or if it cannot use the GPUs that it asks for or was given
     */
    String verdict(List<String> command) {
        CommandLine of = main.getSubcommands().get(command.getFirst());
        if (of == null) {
            throw new ParameterException(main, "'" + command.getFirst() + "' is not a command of isobar."
                + SpellingSuggestion.hint(command.getFirst(), main.getSubcommands().keySet()));
        }
        ParseResult parsed = of.parseArgs(command.subList(1, command.size()).toArray(String[]::new));
        while (parsed.hasSubcommand()) {
            parsed = parsed.subcommand();
        }
        String program = "isobar " + ProgramVersion.text() + " on " + HostMachine.name() + image() + ": ";
        CommandSpec spec = parsed.commandSpec();
        if (parsed.isUsageHelpRequested() || parsed.isVersionHelpRequested()
            || spec.findOption(option(Keys.RUN.device)) == null) {
            return program + NO_DEVICE;
        }
        if (ConfigOptions.areDeclaredBy(spec)) {
            RunConfig config = ConfigOptions.resolve(parsed, context);
            return program + verdict(config.device(), config.deviceOptions(context.environment()));
        }
        return program + verdict(value(parsed, Keys.RUN.device), DeviceOptions.of(OptionalInt.of(1),
            RankEnvironment.of(context.environment()), value(parsed, Keys.LAUNCH.commBackend), context.environment()));
    }

    private String image() {
        String image = context.environment().getOrDefault("ISOBAR_IMAGE", "");
        return image.isBlank() || image.equals("none") ? "" : " in image " + image;
    }

    private static String option(Key<?> key) {
        return "--" + key.name();
    }

    /** The value of the option of {@code key}, or the key's default. */
    private static <T> T value(ParseResult parsed, Key<T> key) {
        OptionSpec option = parsed.commandSpec().findOption(option(key));
        if (option == null || option.getValue() == null) {
            return key.absent().orElseThrow();
        }
        String given = option.getValue().toString();
        return key.type().reader().apply(given).orElseThrow(() -> new UserException(option(key) + " is '" + given
            + "', but it takes " + key.type().expected() + "."));
    }

    private String verdict(Backend asked, DeviceOptions options) {
        if (asked == Backend.CPU) {
            return "the CPU computes, as --device=cpu asks";
        }
        GpuFindings found = TimeLimited.ofDriver(() -> GpuFindings.of(options));
        try {
            return asked.choose(found) == Backend.CUDA ? "a GPU computes; found " + gpus(found.report())
                : "the CPU computes: no GPU was given, and " + found.obstacles().getFirst().what();
        } catch (UserException refused) {
            throw new UserException(refused.getMessage() + " (checked on " + HostMachine.name() + image()
                + ": driver " + CudaFacts.driver(found.report()) + ", GPUs " + gpus(found.report()) + ")", refused);
        }
    }

    private static String gpus(CudaReport report) {
        return report.gpus().isEmpty() ? "none" : report.gpus().size() + " x " + report.gpus().getFirst().name();
    }
}
