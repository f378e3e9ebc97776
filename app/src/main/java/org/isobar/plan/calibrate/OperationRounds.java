package org.isobar.plan.calibrate;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.device.Device;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.tensor.DType;

/** The operations of training steps of some sizes, which several processes can measure at once. */
final class OperationRounds implements RepeatedMeasurement {
    /**
     * Steps of the first and smallest size that do not count, in the first type and then in the others, which call the
     * same layers. C2 compiles a method after 5,000 calls, and a step calls the methods of a layer 12 times; meanwhile
     * it takes part of the cores.
     */
    private static final int COMPILING = 450;
    private static final int COMPILING_TYPE = 100;
    /** Steps of every size that do not count. */
    private static final int WARMUP = 2;
    private static final String SMALL = "[64, 128]";
    /**
     * The measured steps. Small images have 12 blocks, or 6 wide ones: what one or two blocks keep for backward would
     * still be in the cores' caches. Large images have two widths, because the gradients of MLP weights of 256 channels
     * are slower than others on some CPUs.
     */
    private static final List<Shape> SHAPES = List.of(new Shape(SMALL, new ModelSizes(128, 12, 4, 1)),
        new Shape(SMALL, new ModelSizes(192, 12, 6, 4)), new Shape(SMALL, new ModelSizes(384, 6, 8, 4)),
        new Shape("[128, 256]", new ModelSizes(288, 2, 9, 2)), new Shape("[160, 320]", new ModelSizes(256, 1, 8, 1)));

    private final Device device;
    private final ConfigRequest preset;
    private final int processes;
    private final int steps;
    private final Runnable together;
    private final List<OperationCalibration> calibrations;

    /** What a calibrated step computes. */
    private record Shape(String image, ModelSizes model) { }

    /**
     * Measures on {@code device}.
     *
     * @param preset    any preset that is trained with synthetic data, for one process
     * @param processes processes that measure at the same time, and share the samples of a step as data-parallel ranks
     *                  do
     * @param steps     steps of each size in each round
     * @param together  waits for the other processes
     */
    OperationRounds(Device device, ConfigRequest preset, int processes, int steps, Runnable together) {
        this.device = device;
        this.preset = preset;
        this.processes = processes;
        this.steps = steps;
        this.together = together;
        calibrations = types().flatMap(type -> SHAPES.stream().map(shape -> calibration(shape, type))).toList();
    }

    private Stream<DType> types() {
        return Stream.of(DType.F32, DType.BF16).filter(device::supports);
    }

    private OperationCalibration calibration(Shape shape, DType type) {
        return new OperationCalibration(ConfigLoader.load(shape.model.shared(processes).in(preset)
            .set("img_size=" + shape.image).with("amp_mode", type == DType.F32 ? "none" : "bf16")), device);
    }

    /** Runs steps until Java has compiled what they call. */
    void compile() {
        together.run();
        types().forEach(type -> calibration(SHAPES.getFirst(), type)
            .warmUp(type == DType.F32 ? COMPILING : COMPILING_TYPE));
    }

    @Override
    public void warmUp() {
        calibrations.forEach(calibration -> calibration.warmUp(WARMUP));
    }

    @Override
    public void round() {
        calibrations.forEach(calibration -> {
            together.run();
            calibration.measure(steps);
        });
    }

    /** What was measured. */
    List<MeasuredOperation> operations() {
        return calibrations.stream().flatMap(calibration -> calibration.operations().stream()).toList();
    }
}
