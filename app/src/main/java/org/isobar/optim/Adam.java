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
 * The Adam optimizer (Kingma and Ba, 2015) with the tutorial's constants, over all parameters. Learning rate, step
 * count and loss scale are in device memory. The host writes the learning rate before a step and reads none of them
 * during training steps.
 */
public final class Adam {
    /** The tutorial's constants: betas (0.9, 0.95), epsilon 1e-8, no weight decay. */
    public static final AdamConstants CONSTANTS = new AdamConstants(0.9, 0.95, 1e-8);

    private final Device device;
    private final Options options;
    private final Communicator ranks;
    private final int replicas;
    private final AdamConstants constants;
    private final Tensor gradients; // all
    private final StepControl control;
    private final Piece whole;
    private final List<Piece> pieces;

    /** Number of kernel launches per update. Results are bit-identical. */
    public enum Launch {
        /** One launch for the whole flat range ({@code --enable_fused}). */
        ONCE,
        /** One launch for each parameter. */
        PER_TENSOR
    }

    /** What happens at a loss that is not finite. */
    public enum NonFinite {
        /** Stops all updates: parameters, moments and {@link Progress} stay as they were before that step. */
        HALTS,
        /** Skips the step, as for gradients that are not finite. */
        IS_SKIPPED
    }

    /**
     * Options of the update.
     *
     * @param scaler    the loss scaler
     * @param launch    number of kernel launches per update
     * @param nonFinite what happens at a loss that is not finite
     */
    public record Options(GradScaler scaler, Launch launch, NonFinite nonFinite) {
        /** Options that halt at a loss that is not finite. */
        public Options(GradScaler scaler, Launch launch) {
            this(scaler, launch, NonFinite.HALTS);
        }

        /** Whether a gradient that is not finite causes its step to be skipped. */
        public boolean judgesGradients() {
            return scaler.isActive() || nonFinite == NonFinite.IS_SKIPPED;
        }
    }

    /**
     * Counts of steps so far and the loss scale.
     *
     * @param taken   steps that updated the weights
     * @param skipped steps skipped because a gradient or the loss was not finite
     * @param scale   the loss scale of the next step
     */
    public record Progress(long taken, long skipped, double scale) { }

    /** What one launch updates: one range of each flat buffer. */
    private record Piece(Tensor value, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2) {
        Piece slice(long first, long count) {
            return new Piece(value.slice(first, count), copy.slice(first, count), gradient.slice(first, count),
                moment1.slice(first, count), moment2.slice(first, count));
        }
    }

    /**
     * Creates an optimizer whose moments are allocated in {@code arena} and set to zero.
     *
     * @param ranks    communicator of all ranks that must skip the same steps
     * @param replicas number of replicas over which the gradients are sums; the update uses their mean
     */
    public Adam(Device device, ParameterStore parameters, DeviceArena arena, Options options, Communicator ranks,
        int replicas) {
        this.device = device;
        this.options = options;
        this.ranks = ranks;
        this.replicas = replicas;
        constants = options.judgesGradients() ? CONSTANTS : CONSTANTS.dividing(replicas);
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

    /** Running means of the squared gradients, in the layout of the parameters' flat ranges. */
    public Tensor secondMoments() {
        return whole.moment2();
    }

    /** Downloads the numbers of {@link StepControl}, after waiting for the steps issued so far. */
    public double[] control() {
        double[] numbers = new double[StepControl.SIZE];
        device.download(MemorySegment.ofArray(numbers), control.values());
        return numbers;
    }

    /**
     * Restores the state that {@link #control} returned, for example from a checkpoint. The halt flag is reset
     * according to this optimizer's {@link NonFinite}, even if the saved state had halted. The loss scale is restored
     * only if this optimizer scales losses.
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

    /** The loss scale that multiplies the loss before backward, (1), F64. */
    public Tensor lossScale() {
        return control.scale();
    }

    /** Sets the learning rate of the steps issued after this call. */
    public void setLearningRate(double learningRate) {
        device.upload(control.learningRate(), MemorySegment.ofArray(new double[] {learningRate}));
    }

    /**
     * Clears the overflow flag. If losses are scaled or steps with non-finite values are skipped, also divides all
     * gradients by the loss scale and the number of replicas, and sets the flag if a gradient is not finite. Otherwise
     * {@link #step} divides them.
     */
    public void unscale() {
        device.ops().memory().fill(control.overflow(), 0);
        if (options.judgesGradients()) {
            GradScaler.unscale(device.ops(), gradients, replicas, control, ranks);
        }
    }

    /** Makes the gradients those of the mean loss over the replicas, where no {@link #step} follows. */
    public void average() {
        unscale();
        if (!options.judgesGradients() && replicas > 1) {
            device.ops().updates().unscale(gradients, control.overflow(), control.scale(), replicas);
        }
    }

    /**
     * Updates the parameters by their {@link #unscale unscaled} gradients, unless the loss is not finite or
     * {@link #unscale} found a gradient that is not finite.
     *
     * @param loss (1), F64: loss of the step, equal on all ranks
     */
    public void step(Tensor loss) {
        device.ops().updates().advance(control.values(), loss, options.scaler().moves());
        for (Piece piece : pieces) {
            device.ops().updates().adam(piece.value(), piece.copy(), piece.gradient(), piece.moment1(), piece.moment2(),
                control.values(), constants);
        }
    }

    /** Waits for the steps issued so far and returns their counts and the loss scale. */
    public Progress progress() {
        double[] numbers = control();
        return new Progress((long) numbers[StepControl.COUNT], (long) numbers[StepControl.SKIPPED],
            numbers[StepControl.SCALE]);
    }
}
