package org.isobar.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

import org.isobar.config.RunConfig;
import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.job.JobSecret;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.plan.calibrate.MachineFileWriter;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.machine.Quantity;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.TrainingRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines about speed in the log of a run, and the comparison of a finished run with its prediction. */
class MachineExpectationTest {
    @TempDir
    private Path directory;

    /** This machine, or another, with one measured operation. */
    private Path machineFile(String processor) throws IOException {
        Machine shipped = MachineFile.load("cpu-2-cores");
        Map<String, Quantity> numbers = new TreeMap<>(shipped.numbers());
        numbers.put(MachineKeys.CORES, new Quantity(Runtime.getRuntime().availableProcessors(),
            Quantity.Source.MEASURED, "2026-11-22", "a test"));
        Machine machine = new Machine("here", "a test's machine", processor, Machine.Kind.CPU, numbers, List.of(),
            Map.of(), Optional.empty(), List.of(new MeasuredOperation("linear", "F32", 1e6, 1e5, 1e-5)),
            Collections.emptyNavigableMap());
        return Files.writeString(directory.resolve("machine.yaml"), MachineFileWriter.text(machine, List.of()));
    }

    private List<String> train(Path machine, Path logs) {
        RunConfig config = TinyRun.config(directory, logs);
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(0, TrainingRun.run(config, new RunContext(JobSecret.none(), Map.of(), Screen.plain(screen),
            StopRequest.NONE, UnaryOperator.identity(),
            MachineExpectation.of(Map.of("ISOBAR_MACHINE", machine.toString()), directory))),
            () -> screen.toString(StandardCharsets.UTF_8));
        return screen.toString(StandardCharsets.UTF_8).lines().toList();
    }

    @Test
    void aRunOnACalibratedMachineSaysWhatToExpectAndWhatCame() throws IOException {
        TinyRun.synthesize(directory);
        Path machine = machineFile(HostMachine.processor());
        Path logs = directory.resolve("logs");
        List<String> lines = train(machine, logs);
        int expected = index(lines, "Expected: ");
        assertTrue(expected >= 0 && expected < index(lines, "Starting Training Loop"), lines::toString);
        assertTrue(lines.get(expected).contains("by machine file here"), lines.get(expected));
        assertEquals(index(lines, "DONE ---- rank 0") - 1, index(lines, "Measured: "));
        RunCheck check = RunCheck.of(TinyRun.directory(logs), MachineFile.load(machine.toString()));
        assertTrue(check.samplesPerSecond() > 0 && check.planned().samplesPerSecond() > 0);
        assertThrows(UserException.class, () -> RunCheck.of(directory, MachineFile.load("cpu-2-cores")));
        checksTheLastStart(TinyRun.directory(logs), MachineFile.load(machine.toString()));

        List<String> elsewhere = train(machineFile("another processor"), directory.resolve("elsewhere"));
        assertFalse(elsewhere.stream().anyMatch(line -> line.contains("Expected: ") || line.contains("Measured: ")));
    }

    @Test
    void aMissingFileIsNamedAsTheVariableNamesIt() {
        String said = assertThrows(UserException.class, () ->
            MachineExpectation.of(Map.of("ISOBAR_MACHINE", "/missing.yaml"), directory)).getMessage();
        assertTrue(said.startsWith("ISOBAR_MACHINE=/missing.yaml is no machine file"), said);
        assertEquals(Optional.empty(), MachineExpectation.of(Map.of(), directory).machine());
    }

    /** Before its last start the run had four ranks, and other speeds. */
    private static void checksTheLastStart(Path run, Machine machine) throws IOException {
        RunCheck once = RunCheck.of(run, machine);
        Path log = run.resolve("out.log");
        Files.writeString(log, "Setting DP = 4, TP = 1, CP = 1, PP = 1\n"
            + "Time taken for epoch 1 is 1 sec, avg 1e9 samples/sec\n" + Files.readString(log));
        RunCheck resumed = RunCheck.of(run, machine);
        assertEquals(once.samplesPerSecond(), resumed.samplesPerSecond());
        assertEquals(1, resumed.planned().layout().ranks());
        Files.delete(run.resolve("config.yaml"));
        String said = assertThrows(UserException.class, () -> RunCheck.of(run, machine)).getMessage();
        assertTrue(said.startsWith("--check=" + run + ": it has no config.yaml; name the directory"), said);
    }

    @Test
    void aCpuWithoutProductsInBf16IsPlannedInFp32() throws IOException {
        Machine machine = MachineFile.load(machineFile(HostMachine.processor()).toString());
        Plan fp32 = Planner.plan(request(machine, "amp_mode=none"));
        Plan bf16 = Planner.plan(request(machine, "amp_mode=bf16"));
        assertEquals(AmpMode.NONE, bf16.best().layout().precision());
        assertEquals(fp32.best().stepSeconds(), bf16.best().stepSeconds());
        assertEquals(List.of(), fp32.leftOut());
        assertEquals(List.of(new LeftOut("bf16", "this CPU has no such products, and trains in fp32")), bf16.leftOut());
        Machine both = MachineFile.load("cpu-2-cores");
        assertEquals(AmpMode.BF16, Planner.plan(request(both, "amp_mode=bf16")).best().layout().precision());
    }

    private PlanRequest request(Machine machine, String setting) {
        return new PlanRequest(TinyRun.config(directory, directory, setting), machine, Program.ISOBAR, 1,
            PlanRequest.Fixed.NOTHING);
    }

    private static int index(List<String> lines, String part) {
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).contains(part)) {
                return i;
            }
        }
        return -1;
    }
}
