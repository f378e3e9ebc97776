package org.isobar.plan.calibrate;

import java.time.LocalDate;
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
     * Steps of the first and smallest size that do not count, in the first type and then in the others, which call the
     * same layers. C2 compiles a method after 5,000 calls, and a step calls the methods of a layer 12 times; meanwhile
     * it takes part of the cores.
     */
    private static final int COMPILING = 450;
    private static final int COMPILING_TYPE = 100;
    /** Steps of every size that do not count. */
    private static final int WARMUP = 2;
    private static final int ROUNDS = 2;
    private static final String SMALL = "[64, 128]";
    /**
     * The measured steps. Small images have 12 blocks, or 6 wide ones: what one or two blocks keep for backward would
     * still be in the cores' caches.
     */
    private static final List<Shape> SHAPES = List.of(new Shape(SMALL, new ModelSizes(128, 12, 4, 1)),
        new Shape(SMALL, new ModelSizes(192, 12, 6, 4)), new Shape(SMALL, new ModelSizes(384, 6, 8, 4)),
        new Shape("[128, 256]", new ModelSizes(256, 2, 8, 2)), new Shape("[160, 320]", new ModelSizes(256, 1, 8, 1)));

    private final Device device;
    private final ConfigRequest preset;
    private final int steps;
    private final Consumer<String> progress;

    /** What a calibrated step computes. */
    private record Shape(String image, ModelSizes model) { }

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

    /** Measures; takes a minute with 4 steps. */
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
            Machine.Kind.CPU, numbers, List.of(), Map.of(), Optional.empty(), operations(1, () -> { }),
            Collections.emptyNavigableMap());
    }

    /**
     * The operations of the steps. Rounds over all sizes are interleaved.
     *
     * @param processes processes that measure at the same time, and share the samples of a step as data-parallel ranks
     *                  do
     * @param together  waits for the other processes
     */
    public List<MeasuredOperation> operations(int processes, Runnable together) {
        compile(processes, together);
        List<DType> types = Stream.of(DType.F32, DType.BF16).filter(device::supports).toList();
        types.stream().filter(type -> type != DType.F32).forEach(type ->
            new OperationCalibration(config(SHAPES.getFirst(), processes, type), device).warmUp(COMPILING_TYPE));
        List<OperationCalibration> calibrations = types.stream().flatMap(type -> SHAPES.stream()
            .map(shape -> new OperationCalibration(config(shape, processes, type), device))).toList();
        calibrations.forEach(calibration -> calibration.warmUp(WARMUP));
        for (int round = 1; round <= ROUNDS; round++) {
            progress.accept("Steps of " + SHAPES.size() + " sizes, round " + round + " of " + ROUNDS);
            calibrations.forEach(calibration -> {
                together.run();
                calibration.measure(steps);
            });
        }
        return calibrations.stream().flatMap(calibration -> calibration.operations().stream()).toList();
    }

    /** Runs steps in single precision until Java has compiled what they call; parameters as {@link #operations}. */
    public void compile(int processes, Runnable together) {
        progress.accept("Steps for Java's compilers");
        together.run();
        new OperationCalibration(config(SHAPES.getFirst(), processes, DType.F32), device).warmUp(COMPILING);
    }

    private RunConfig config(Shape shape, int processes, DType dtype) {
        return ConfigLoader.load(shape.model.shared(processes).in(preset)
            .set("img_size=" + shape.image).with("amp_mode", dtype == DType.F32 ? "none" : "bf16"));
    }
}
