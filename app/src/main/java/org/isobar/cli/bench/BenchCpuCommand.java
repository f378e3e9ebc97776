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
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.ProgramVersion;
import org.isobar.tensor.DType;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar bench cpu}: runs all measurements of a CPU. Exits with 1 if one of them fails. */
@Command(name = "cpu", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
    description =
    "Run all measurements of the CPU, with PyTorch's and h5py's for comparison. Run nothing else meanwhile.")
final class BenchCpuCommand implements Callable<Integer> {
    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @ArgGroup
    private Size size = new Size();
    @Option(names = "--parts", paramLabel = "PART", split = ",", description = "Measurements to run, of "
        + "${COMPLETION-CANDIDATES}.")
    private Set<SuiteSection> sections = EnumSet.allOf(SuiteSection.class);
    @Option(names = "--budget", paramLabel = "SECONDS", defaultValue = "1500",
        description = "Time limit of all measurements; the last ones are skipped if it is too short.")
    private int budget;
    @Parameters(paramLabel = "DIR", arity = "0..1",
        description = "Directory for report.md, report.json and the results of each measurement (default: bench-DATE).")
    private Path directory;

    /** The size of the measurements. */
    private static final class Size {
        @Option(names = "--quick", description = "Measure preset demo only.")
        private boolean quick;
        @Option(names = "--rehearse", description =
            "Run everything at the size of preset tiny, without recording times.")
        private boolean rehearse;

        SuiteSize extent() {
            return quick ? SuiteSize.QUICK : rehearse ? SuiteSize.REHEARSED : SuiteSize.WHOLE;
        }
    }

    BenchCpuCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        if (budget < 1) {
            throw new UserException("--budget=" + budget + " must be at least 1 second");
        }
        Path output = directory == null ? Path.of("bench-"
            + LocalDateTime.now().format(DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss"))) : directory;
        Map<String, String> environment = context.environment();
        SuiteSetup setup = new SuiteSetup(isobar(), context.home().toAbsolutePath().resolve("bench"),
            Optional.ofNullable(environment.get("PYTHON")), noBf16(), size.extent(), sections,
            Duration.ofSeconds(budget));
        CpuSuite suite = new CpuSuite(setup, output, line -> {
            spec.commandLine().getOut().println(line);
            spec.commandLine().getOut().flush();
        });
        int failed = suite.run(facts());
        spec.commandLine().getOut().println("Report: " + output.resolve("report.md"));
        return failed == 0 ? 0 : 1;
    }

    /** The command of the launcher script or, if there is none, of this Java process. */
    private List<String> isobar() {
        Path launcher = context.home().toAbsolutePath().resolve("isobar");
        return Files.isExecutable(launcher) ? List.of(launcher.toString())
            : JavaCommand.command(spec.root().userObject().getClass());
    }

    private Optional<String> noBf16() {
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), RankEnvironment.of(context.environment()),
            CommBackend.AUTO, context.environment());
        try (Device device = Backend.CPU.open(options, _ -> { })) {
            return device.supports(DType.BF16) ? Optional.empty()
                : Optional.of("Isobar does not train in bf16 on this CPU");
        }
    }

    private Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        List<String> line = new ArrayList<>(List.of("./isobar"));
        line.addAll(spec.root().commandLine().getParseResult().originalArgs());
        facts.put("command", "`" + String.join(" ", line) + "`");
        facts.put("Isobar", ProgramVersion.text());
        return facts;
    }
}
