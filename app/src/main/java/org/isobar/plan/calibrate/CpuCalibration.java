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
import java.util.stream.Stream;

import org.isobar.bench.measure.CeilingsBenchmark;
import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.Timing;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.os.HostMachine;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.machine.Quantity;
import org.isobar.tensor.DType;

/**
 * Measures this machine's CPU: limits of memory and products, and the operations of training steps of some sizes.
 * Several processes measure the operations at once.
 */
public final class CpuCalibration {
    private static final long COPIED = 256L << 20;
    private static final int MATRIX = 2048;
    private static final double GIB = 1L << 30;
    /**
     * Rounds that do not count, and their steps. Until a step has run about forty times, Java's compilers take part of
     * the cores.
     */
    private static final int WARMUP_ROUNDS = 2;
    private static final int WARMUP_STEPS = 20;
    private static final int ROUNDS = 3;
    /**
     * Image, channels, blocks, heads and batch of the measured steps. Small images have 12 blocks, or 6 wide ones: what
     * one or two blocks keep for backward would still be in the cores' caches.
     */
    private static final List<Shape> SHAPES = List.of(new Shape("[64, 128]", 192, 12, 6, 4),
        new Shape("[64, 128]", 384, 6, 8, 4), new Shape("[64, 128]", 128, 12, 4, 1),
        new Shape("[128, 256]", 256, 2, 8, 2), new Shape("[192, 384]", 384, 1, 8, 1));

    private final Device device;
    private final ConfigRequest preset;
    private final int steps;
    private final Consumer<String> progress;

    /** What a calibrated step computes. */
    private record Shape(String image, int embed, int depth, int heads, int batch) { }

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

    /** Measures; takes a minute and a half with 6 steps. */
    public Machine run(String name) {
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
        return new Machine(name, HostMachine.processor() + ", " + cores + " cores", HostMachine.processor(),
            Machine.Kind.CPU, numbers, List.of(), Map.of(), Optional.empty(), operations(() -> { }),
            Collections.emptyNavigableMap());
    }

    /**
     * The operations of the steps. Rounds over all sizes are interleaved; warmup rounds do not count.
     *
     * @param together waits for the other processes that measure at the same time
     */
    public List<MeasuredOperation> operations(Runnable together) {
        List<OperationCalibration> calibrations = Stream.of(DType.F32, DType.BF16).filter(device::supports)
            .flatMap(dtype -> SHAPES.stream().map(shape ->
                new OperationCalibration(config(shape, dtype), device))).toList();
        Map<MeasuredOperation, List<Double>> rounds = new LinkedHashMap<>(); // by all but the time
        for (int round = 1 - WARMUP_ROUNDS; round <= ROUNDS; round++) {
            progress.accept("Steps of " + SHAPES.size() + " sizes, " + (round < 1
                ? "warmup round " + (round + WARMUP_ROUNDS) + " of " + WARMUP_ROUNDS
                : "round " + round + " of " + ROUNDS));
            for (OperationCalibration calibration : calibrations) {
                together.run();
                List<MeasuredOperation> rows = calibration.measure(round < 1 ? WARMUP_STEPS : steps);
                if (round > 0) {
                    rows.forEach(row -> rounds.computeIfAbsent(row.in(0), _ -> new ArrayList<>()).add(row.seconds()));
                }
            }
        }
        return rounds.entrySet().stream().map(entry -> entry.getKey().in(Spread.of(entry.getValue().stream()
            .mapToDouble(Double::doubleValue).toArray()).median())).toList();
    }

    private RunConfig config(Shape shape, DType dtype) {
        return ConfigLoader.load(new ModelSizes(shape.embed, shape.depth, shape.heads, shape.batch).in(preset)
            .set("img_size=" + shape.image).with("amp_mode", dtype == DType.F32 ? "none" : "bf16"));
    }
}
