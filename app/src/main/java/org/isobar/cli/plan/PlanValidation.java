package org.isobar.cli.plan;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.os.AtomicFile;
import org.isobar.os.HostMachine;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.calibrate.StepChecks;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.report.Comparison;
import org.isobar.plan.report.ValidationTable;

/** {@code isobar plan --validate}: writes how well measurements are predicted. */
final class PlanValidation {
    private static final int LARGE = 16_384;

    private PlanValidation() { }

    /** Writes the page; measures steps of this CPU if a machine file is given, and {@code runs} of several ranks. */
    static void write(Path file, Optional<String> machine, Optional<LayoutRuns> runs, ProgramContext context,
        PrintWriter out) {
        Optional<List<Comparison>> steps = machine.map(name -> steps(MachineFile.load(name), context));
        Optional<List<List<Comparison>>> ranks =
            runs.flatMap(each -> machine.map(name -> each.compare(MachineFile.load(name))));
        String facts = "on " + LocalDate.now() + ", " + HostMachine.processor() + ", "
            + Runtime.getRuntime().availableProcessors() + " cores";
        String page = ValidationTable.of(request(context, 16, "64"), request(context, LARGE, "" + LARGE), steps,
            ranks, facts);
        new AtomicFile("validation", file, "--validate").write(page.getBytes(StandardCharsets.UTF_8));
        out.print(page);
        out.flush();
    }

    private static List<Comparison> steps(Machine machine, ProgramContext context) {
        DeviceOptions options = DeviceOptions.of(ThreadCount.of(Optional.empty(), context.environment()),
            RankEnvironment.of(context.environment()), CommBackend.AUTO, context.environment());
        try (Device device = Backend.CPU.open(options, _ -> { })) {
            return StepChecks.run(device, new ConfigRequest(context.defaultPresets(), "demo", Map.of()), machine);
        }
    }

    private static PlanRequest request(ProgramContext context, int ranks, String batch) {
        return new PlanRequest(ConfigLoader.load(new ConfigRequest(context.defaultPresets(), "mp", Map.of())
            .with("global_batch_size", batch)), MachineFile.load("perlmutter-a100-40"), Program.ISOBAR, ranks,
            PlanRequest.Fixed.NOTHING);
    }
}
