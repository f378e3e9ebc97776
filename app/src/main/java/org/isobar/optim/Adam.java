package org.isobar.optim;

import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.StepControl;
import org.isobar.distributed.Communicator;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Adam (Kingma and Ba, 2015) with the tutorial's constants, over all parameters at once. Learning rate, step count and
 * loss scale lie in device memory; of these the host writes the first, before a step, and reads none.
 */
public final class Adam {
    /** The tutorial's: betas (0.9, 0.95), epsilon 1e-8, no weight decay. */
    public static final AdamConstants CONSTANTS = new AdamConstants(0.9, 0.95, 1e-8);

    private final Device device;
    private final Options options;
    private final Communicator ranks;
    private final Tensor gradients; // all
    private final StepControl control;
    private final Piece whole;
    private final List<Piece> pieces;

    /** How often the device is called. The bits are the same. */
    public enum Launch {
        /** Once, for the whole flat range ({@code --enable_fused}). */
        ONCE,
        /** Once for each parameter. */
        PER_TENSOR
    }

    /** What a loss that is not finite does. */
    public enum NonFinite {
        /** It ends all movement: parameters, moments and {@link Progress} stay what they were before its step. */
        HALTS,
        /** Its step is skipped, as are those whose gradients are not finite. */
        IS_SKIPPED
    }

    /**
     * How the update is carried out.
     *
     * @param scaler    what the loss is multiplied by
     * @param launch    how often the device is called
     * @param nonFinite what becomes of a loss that is not finite
     */
    public record Options(GradScaler scaler, Launch launch, NonFinite nonFinite) {
        /** Halts at a loss that is not finite. */
        public Options(GradScaler scaler, Launch launch) {
            this(scaler, launch, NonFinite.HALTS);
        }

        /** Whether a gradient that is not finite has its step skipped. */
        public boolean judgesGradients() {
            return scaler.isActive() || nonFinite == NonFinite.IS_SKIPPED;
        }
    }

    /**
     * How steps have gone.
     *
     * @param taken   steps that moved the weights
     * @param skipped steps left out because a gradient, or the loss, was not finite
     * @param scale   the loss scale of the next step
     */
    public record Progress(long taken, long skipped, double scale) { }

    /** What one call moves: the same part of each flat range. */
    private record Piece(Tensor value, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2) {
        Piece slice(long first, long count) {
            return new Piece(value.slice(first, count), copy.slice(first, count), gradient.slice(first, count),
                moment1.slice(first, count), moment2.slice(first, count));
        }
    }

    /**
     * An optimizer whose moments, zero at first, lie in {@code arena}.
     *
     * @param ranks all that must skip the same steps
     */
    public Adam(Device device, ParameterStore parameters, DeviceArena arena, Options options, Communicator ranks) {
        this.device = device;
        this.options = options;
        this.ranks = ranks;
        gradients = parameters.gradients();
        whole = new Piece(parameters.values(), parameters.copies(), gradients,
            arena.f32(parameters.elements()), arena.f32(parameters.elements()));
        control = new StepControl(arena.allocate(DType.F64, StepControl.SIZE));
        pieces = switch (options.launch()) {
            case ONCE -> List.of(whole);
            case PER_TENSOR -> parameters.ranges().stream()
                .map(range -> whole.slice(range.offset(), range.length())).toList();
        };
        device.ops().memory().fill(whole.moment1(), 0);
        device.ops().memory().fill(whole.moment2(), 0);
        setControl(new double[StepControl.SIZE], options.scaler().start());
    }

    /** Running means of the gradients, in the layout of the parameters' flat ranges. */
    public Tensor firstMoments() {
        return whole.moment1();
    }

    /** Running means of the squared gradients, in the same layout. */
    public Tensor secondMoments() {
        return whole.moment2();
    }

    /** What steers the steps, but for the learning rate; waits for the steps so far. See {@link StepControl}. */
    public double[] control() {
        double[] numbers = new double[StepControl.SIZE];
        device.download(MemorySegment.ofArray(numbers), control.values());
        return numbers;
    }

    /**
     * Goes on where {@link #control} was asked for, but in this optimizer's own way: armed, even if that had halted, or
     * not, and with no scale where it scales no losses.
     */
    public void setControl(double[] numbers) {
        setControl(numbers, options.scaler().isActive() ? numbers[StepControl.SCALE] : options.scaler().start());
    }

    private void setControl(double[] numbers, double scale) {
        double[] own = numbers.clone();
        own[StepControl.SCALE] = scale;
        own[StepControl.HALT] =
            options.nonFinite() == NonFinite.HALTS ? StepControl.ARMED : StepControl.NEVER_HALTS;
        device.upload(control.values(), MemorySegment.ofArray(own));
    }

    /** What the loss is multiplied by before backward, (1), F64. */
    public Tensor lossScale() {
        return control.scale();
    }

    /** Sets the learning rate of the steps that are issued from now on. */
    public void setLearningRate(double learningRate) {
        device.upload(control.learningRate(), MemorySegment.ofArray(new double[] {learningRate}));
    }

    /**
     * Divides all gradients by the loss scale and notes whether they are finite, where that is asked for: where losses
     * are scaled, or steps skipped.
     */
    public void unscale() {
        device.ops().memory().fill(control.overflow(), 0);
        if (options.judgesGradients()) {
            GradScaler.unscale(device.ops(), gradients, control, ranks);
        }
    }

    /**
     * Moves the parameters by their gradients, {@link #unscale unscaled}, unless the loss, or a gradient that was
     * looked at, is not finite.
     *
     * @param loss (1), F64: of the step, the same on all ranks
     */
    public void step(Tensor loss) {
        device.ops().updates().advance(control.values(), loss, options.scaler().moves());
        for (Piece piece : pieces) {
            device.ops().updates().adam(piece.value(), piece.copy(), piece.gradient(), piece.moment1(), piece.moment2(),
                control.values(), CONSTANTS);
        }
    }

    /** How the steps so far have gone; waits for them. */
    public Progress progress() {
        double[] numbers = control();
        return new Progress((long) numbers[StepControl.COUNT], (long) numbers[StepControl.SKIPPED],
            numbers[StepControl.SCALE]);
    }
}
