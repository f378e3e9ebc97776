package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.Span;
import org.isobar.device.TensorOps;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.optim.Adam;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VisionTransformer;
import org.isobar.vit.VitConfig;

/** One model on one device, with its optimizer and all the memory that a training step of a fixed batch needs. */
public final class Replica implements AutoCloseable {
    private final Device device;
    private final Memory memory;
    private final ParameterStore parameters = new ParameterStore();
    private final VisionTransformer model;
    private final Adam adam;
    private final Tensor prediction; // (B, Cout, H, W)
    private final Tensor loss;       // (1), F64
    private final Tensor norms;      // (B, 2), F64
    private final Tensor lossScale;  // (1)
    private final Tensor rmse;       // (Cout), F64

    /**
     * Where a replica's tensors live.
     *
     * @param state   for the run: parameters, gradients, moments, predictions, scores
     * @param kept    from forward to backward
     * @param scratch within one layer
     */
    public record Memory(Arena state, Arena kept, Arena scratch) implements AutoCloseable {
        /**
         * The arenas that {@code plan} asks for: all of them or, after a failure, none.
         *
         * @throws org.isobar.device.OutOfDeviceMemoryException if the device has not that much memory
         */
        public static Memory of(Device device, MemoryPlan plan) {
            List<Arena> taken = new ArrayList<>();
            try {
                taken.add(device.arena("state", plan.stateBytes()));
                taken.add(device.arena("activations", plan.keptBytes()));
                taken.add(device.arena("scratch", plan.scratchBytes()));
            } catch (RuntimeException noMemory) {
                taken.forEach(Arena::close);
                throw noMemory;
            }
            return new Memory(taken.get(0), taken.get(1), taken.get(2));
        }

        @Override
        public void close() {
            scratch.close();
            kept.close();
            state.close();
        }
    }

    /**
     * What distinguishes one training step from another.
     *
     * @param seed         of the run
     * @param step         steps taken before it, over the whole run
     * @param samples      how this rank's samples lie in the global batch
     * @param learningRate of this step
     */
    public record StepContext(long seed, long step, Span samples, double learningRate) { }

    /**
     * Scores of one batch.
     *
     * @param loss mean relative L2 loss
     * @param rmse latitude-weighted RMSE of each channel, of normalized fields
     */
    public record Evaluation(double loss, double[] rmse) { }

    /** A replica for batches of {@code batch} samples; its weights are undefined until {@link #initialize}. */
    public Replica(Device device, VitConfig config, int batch, Memory memory) {
        this.device = device;
        this.memory = memory;
        model = new VisionTransformer(parameters, config);
        Arena state = memory.state();
        Tensor values = state.f32(parameters.elements());
        parameters.bind(values, state.f32(parameters.elements()));
        adam = new Adam(device, parameters, state);
        prediction = state.f32(batch, config.outChannels(), config.height(), config.width());
        loss = state.allocate(DType.F64, 1);
        norms = state.allocate(DType.F64, batch, 2);
        lossScale = state.f32(1);
        rmse = state.allocate(DType.F64, config.outChannels());
        device.ops().fill(lossScale, 1);
        state.seal();
    }

    /** Sets the initial weights of a run with the given seed. */
    public void initialize(long seed) {
        parameters.initialize(device, seed);
    }

    /** All parameters. */
    public ParameterStore parameters() {
        return parameters;
    }

    /** The device that this replica lives on. */
    public Device device() {
        return device;
    }

    /** The prediction that was made last, (B, Cout, H, W); a training step overwrites it with its gradient. */
    public Tensor prediction() {
        return prediction;
    }

    /** One training step on a batch of normalized images; returns the loss before the update. */
    public double trainStep(Tensor input, Tensor target, StepContext context) {
        double value = gradients(input, target, new Pass.Masks(context.seed(), context.step(), context.samples()));
        adam.step(context.learningRate());
        return value;
    }

    /** Sets all gradients to those of the loss of one batch; returns the loss. */
    public double gradients(Tensor input, Tensor target, Pass.Randomness randomness) {
        TensorOps ops = device.ops();
        ops.fill(parameters.gradients(), 0);
        Pass pass = new Pass(ops, memory.kept(), memory.scratch(), randomness);
        model.forward(prediction, input, pass);
        ops.relativeL2Loss(loss, norms, prediction, target);
        ops.relativeL2LossBackward(prediction, prediction, target, norms, lossScale);
        model.backward(prediction, input, pass);
        pass.finish();
        return read(loss)[0];
    }

    /** Predicts without dropout and scores against the target. */
    public Evaluation evaluate(Tensor input, Tensor target) {
        Pass pass = new Pass(device.ops(), memory.kept(), memory.scratch(), new Pass.None());
        model.forward(prediction, input, pass);
        pass.discard();
        device.ops().relativeL2Loss(loss, norms, prediction, target);
        return new Evaluation(read(loss)[0], score(prediction, target));
    }

    /** Latitude-weighted RMSE of each channel of any forecast (B, Cout, H, W). */
    public double[] score(Tensor forecast, Tensor target) {
        device.ops().weightedRmse(rmse, forecast, target);
        return read(rmse);
    }

    /** The first sample of the last batch, trained or evaluated, whose loss is not finite, or -1. */
    public int firstNonFiniteSample() {
        double[] values = read(norms);
        for (int sample = 0; sample < values.length / 2; sample++) {
            if (!Double.isFinite(values[2 * sample] / values[2 * sample + 1])) {
                return sample;
            }
        }
        return -1;
    }

    private double[] read(Tensor tensor) {
        double[] values = new double[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }

    /** The tree of the model's modules. */
    @Override
    public String toString() {
        return model.toString();
    }

    /** Frees all memory. */
    @Override
    public void close() {
        memory.close();
    }
}
