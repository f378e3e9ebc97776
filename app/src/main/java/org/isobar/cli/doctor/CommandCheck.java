package org.isobar.cli.doctor;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.GpuFindings;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.os.ProgramVersion;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Checks before a job's tasks start whether a command can compute on the device that it asks for. It runs in the shell
 * of the job, whose environment is like that of rank 0.
 */
final class CommandCheck {
    private static final String DEVICE = "--device";
    private static final String CARRIER = "--comm_backend";

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
        String program = "isobar " + ProgramVersion.text() + " on " + HostMachine.name() + image() + ": ";
        Optional<Backend> asked = Optional.empty();
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), RankEnvironment.of(context.environment()),
            value(parsed, CARRIER).map(CommBackend::valueOf).orElse(CommBackend.AUTO), context.environment());
        if (parsed.isUsageHelpRequested() || parsed.isVersionHelpRequested()) {
            return program + "no device is needed";
        }
        if (ConfigOptions.areDeclaredBy(of.getCommandSpec())) {
            RunConfig config = ConfigOptions.resolve(parsed, context);
            asked = Optional.of(config.device());
            options = config.deviceOptions(context.environment());
        } else if (of.getCommandSpec().findOption(DEVICE) != null) {
            asked = Optional.of(value(parsed, DEVICE).map(Backend::valueOf).orElse(Backend.AUTO));
        }
        return program + verdict(asked, options);
    }

    private String image() {
        String image = context.environment().getOrDefault("ISOBAR_IMAGE", "");
        return image.isBlank() || image.equals("none") ? "" : " in image " + image;
    }

    private static Optional<String> value(ParseResult parsed, String name) {
        OptionSpec option = parsed.commandSpec().findOption(name);
        return option == null || option.getValue() == null ? Optional.empty()
            : Optional.of(option.getValue().toString().toUpperCase(Locale.ROOT));
    }

    private String verdict(Optional<Backend> asked, DeviceOptions options) {
        if (asked.isEmpty()) {
            return "no device is needed";
        }
        if (asked.get() == Backend.CPU) {
            return "the CPU computes, as --device=cpu asks";
        }
        GpuFindings found = TimeLimited.ofDriver(() -> GpuFindings.of(options));
        try {
            return asked.get().choose(found) == Backend.CUDA ? "a GPU computes; found " + gpus(found.report())
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
