package org.isobar.cli.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Callable;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.suite.CpuSuite;
import org.isobar.bench.suite.SuiteSection;
import org.isobar.bench.suite.SuiteSetup;
import org.isobar.bench.suite.SuiteSize;
import org.isobar.cli.job.JavaCommand;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.Version;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar bench cpu}: everything that is measured on a CPU, in one run. Ends with 1 if a part has failed. */
@Command(name = "cpu", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
    description = "Measure everything on the CPU, beside PyTorch and h5py, in one run; nothing else should run.")
final class BenchCpuCommand implements Callable<Integer> {
    private final ProgramContext launch;
    @Spec
    private CommandSpec spec;
    @ArgGroup
    private Size size = new Size();
    @Option(names = "--parts", paramLabel = "PART", split = ",", description = "What to measure, of "
        + "${COMPLETION-CANDIDATES} (default: all).")
    private Set<SuiteSection> sections = EnumSet.allOf(SuiteSection.class);
    @Option(names = "--budget", paramLabel = "SECONDS", defaultValue = "1500",
        description = "Time for all of it; parts that do not fit are skipped, the last ones first.")
    private int budget;
    @Parameters(paramLabel = "DIR", arity = "0..1",
        description = "Where results go: report.md, report.json and what each part wrote (default: bench-DATE).")
    private Path directory;

    /** How much. */
    private static final class Size {
        @Option(names = "--quick", description = "Preset demo alone.")
        private boolean quick;
        @Option(names = "--rehearse", description = "Do all of it at the size of preset tiny, and note no times.")
        private boolean rehearse;

        SuiteSize extent() {
            return quick ? SuiteSize.QUICK : rehearse ? SuiteSize.REHEARSED : SuiteSize.WHOLE;
        }
    }

    BenchCpuCommand(ProgramContext launch) {
        this.launch = launch;
    }

    @Override
    public Integer call() {
        if (budget < 1) {
            throw new UserException("--budget=" + budget + ": a number of seconds, at least 1");
        }
        Path place = directory == null ? Path.of("bench-"
            + LocalDateTime.now().format(DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss"))) : directory;
        Map<String, String> environment = launch.environment();
        SuiteSetup setup = new SuiteSetup(isobar(), launch.home().toAbsolutePath().resolve("bench"),
            Optional.ofNullable(environment.get("PYTHON")), noBf16(), size.extent(), sections,
            Duration.ofSeconds(budget));
        CpuSuite suite = new CpuSuite(setup, place, line -> {
            spec.commandLine().getOut().println(line);
            spec.commandLine().getOut().flush();
        });
        int failed = suite.run(facts());
        spec.commandLine().getOut().println("The report: " + place.resolve("report.md"));
        return failed == 0 ? 0 : 1;
    }

    /** The launcher, which everybody starts with; or, where there is none, what started this. */
    private List<String> isobar() {
        Path launcher = launch.home().toAbsolutePath().resolve("isobar");
        return Files.isExecutable(launcher) ? List.of(launcher.toString())
            : JavaCommand.command(spec.root().userObject().getClass());
    }

    private Optional<String> noBf16() {
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), RankEnvironment.of(launch.environment()),
            CommBackend.AUTO, launch.environment());
        try (Device device = Backend.CPU.open(options, unsaid -> { })) {
            return device.supports(DType.BF16) ? Optional.empty()
                : Optional.of("Isobar does not train in bf16 on this CPU");
        }
    }

    private Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        List<String> line = new ArrayList<>(List.of("./isobar"));
        line.addAll(spec.root().commandLine().getParseResult().originalArgs());
        facts.put("command", "`" + String.join(" ", line) + "`");
        facts.put("Isobar", Version.ofProgram());
        return facts;
    }
}
