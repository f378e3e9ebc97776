package org.isobar.plan.calibrate;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

import org.isobar.bench.measure.CeilingsBenchmark;
import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.Timing;
import org.isobar.config.ConfigRequest;
import org.isobar.device.Device;
import org.isobar.os.HostMachine;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.Quantity;

/** Measures this machine's CPU in one process: limits of memory and products, and the operations of training steps. */
public final class CpuCalibration {
    private static final long COPIED = 256L << 20;
    private static final int MATRIX = 2048;
    private static final double GIB = 1L << 30;

    private final Device device;
    private final ConfigRequest preset;
    private final int steps;
    private final Consumer<String> progress;

    /**
     * Measures on {@code device}.
     *
     * @param preset   any preset that is trained with synthetic data
     * @param steps    steps of each size in each round
     * @param progress receives a line for each measurement
     */
    public CpuCalibration(Device device, ConfigRequest preset, int steps, Consumer<String> progress) {
        this.device = device;
        this.preset = preset;
        this.steps = steps;
        this.progress = progress;
    }

    /**
     * Measures.
     *
     * @param checks steps that are measured in turn with the operations
     */
    public Machine run(String name, Optional<StepChecks> checks) {
        String date = LocalDate.now().toString();
        Map<String, Quantity> numbers = new TreeMap<>(MachineFile.load("cpu-2-cores").numbers());
        int cores = Runtime.getRuntime().availableProcessors();
        progress.accept("Limits of memory and products");
        CeilingsResult limits = new CeilingsBenchmark(device, Timing.MEASURED).run(COPIED, MATRIX);
        double single = limits.products().get("fp32").median();
        Map<String, Double> measured = new LinkedHashMap<>();
        measured.put(MachineKeys.CORES, (double) cores);
        measured.put(MachineKeys.MEMORY, HostMachine.totalMemory() / GIB);
        measured.put(MachineKeys.BANDWIDTH, limits.copy().median() / 1e9);
        measured.put(MachineKeys.PEAK_SINGLE, single / 1e12);
        measured.put(MachineKeys.PEAK_HALF, limits.products().values().stream().mapToDouble(each -> each.median())
            .max().orElse(single) / 1e12);
        measured.forEach((key, value) -> numbers.put(key, new Quantity(value, Quantity.Source.MEASURED, date,
            "bench calibrate")));
        OperationRounds operations = new OperationRounds(device, preset, 1, steps, () -> { });
        progress.accept("Steps for Java's compilers");
        operations.compile();
        progress.accept("Operations of steps, in " + RepeatedMeasurement.ROUNDS + " rounds");
        List<RepeatedMeasurement> measurements = new ArrayList<>(List.of(operations));
        checks.ifPresent(measurements::add);
        RepeatedMeasurement.interleave(measurements);
        return new Machine(name, HostMachine.processor() + ", " + cores + " cores", HostMachine.processor(),
            Machine.Kind.CPU, numbers, List.of(), Map.of(), Optional.empty(), operations.operations(),
            Collections.emptyNavigableMap());
    }
}
