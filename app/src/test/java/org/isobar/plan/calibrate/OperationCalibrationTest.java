package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.plan.cost.IsobarCosts;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.trace.DryStep;
import org.isobar.plan.trace.StepEvent;
import org.isobar.train.TinyRun;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.StepOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Measured operations, the file that they are written to, and costs from that file. */
class OperationCalibrationTest {
    @TempDir
    private Path directory;

    @Test
    void aMeasuredOperationCostsWhatWasMeasured() throws IOException {
        RunConfig config = TinyRun.config(directory, directory);
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), RankEnvironment.of(Map.of()), CommBackend.AUTO,
            Map.of());
        List<MeasuredOperation> rows;
        try (Device device = Backend.CPU.open(options, _ -> { })) {
            OperationCalibration calibration = new OperationCalibration(config, device);
            calibration.measure(2);
            rows = calibration.operations();
        }
        assertTrue(rows.stream().anyMatch(row -> row.name().equals("attentionBackward") && row.flops() > 0));
        Machine shipped = MachineFile.load("cpu-2-cores");
        List<MeasuredOperation> slower = rows.stream().map(row -> row.in(3 * row.seconds())).toList();
        Machine machine = new Machine("here", "here", "here", Machine.Kind.CPU, shipped.numbers(), List.of(), Map.of(),
            Optional.empty(), rows, new TreeMap<>(Map.of(2, slower)));
        Path file = Files.writeString(directory.resolve("machine.yaml"), MachineFileWriter.text(machine,
            List.of(new CollectiveTable.Row("allreduce", 1, 2, 1024, 1e-4))));
        Machine read = MachineFile.load(file.toString());
        assertEquals(machine.numbers(), read.numbers());
        assertEquals(rows.size(), read.operations().size());
        assertEquals(1e-4, read.collectives().orElseThrow().seconds("allreduce", 1, 2, 1024).orElseThrow(), 1e-12);

        IsobarCosts costs = new IsobarCosts(read, 1);
        StepEvent.Operation attention = DryStep.of(config.model(), config.training().localBatchSize(),
            StepOptions.of(config.training(), new DryRunDevice(),
                GradientSync.Options.DEFAULT), ProcessGrid.fit(ProcessGrid.DEFAULT_ORDER, 1, 1, 1, 1), 0).trace()
            .operations().filter(operation -> operation.name().equals("attention")).findFirst().orElseThrow();
        double measured = rows.stream().filter(row -> row.name().equals("attention")).findFirst().orElseThrow()
            .seconds();
        assertEquals(measured, costs.seconds(attention), 1e-6 * measured);
        assertEquals(3 * measured, new IsobarCosts(read, 2).seconds(attention), 1e-6 * measured, "as two processes");
        assertEquals(6 * measured, new IsobarCosts(read, 4).seconds(attention), 1e-6 * measured, "each core has two");
        assertEquals(2 * measured, new IsobarCosts(machine.with(Collections.emptyNavigableMap()), 2)
            .seconds(attention), 1e-6 * measured, "an older file");
    }
}
