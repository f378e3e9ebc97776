package org.isobar.train.step;

import java.util.function.Consumer;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Communicators;
import org.isobar.model.Model;
import org.isobar.model.ModelSpec;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** One rank's part of a model on its device, with its parameters, their gradients and the latest prediction. */
public final class DeviceModel {
    private final Device device;
    private final DType compute;
    private final StepMemory memory;
    private final ParameterStore parameters = new ParameterStore();
    private final Model model;
    private final Tensor prediction; // (B, Cout, H, W)

    /** What a model is used for. */
    enum Purpose {
        /** It has gradients. */
        TRAINING,
        /** It has no gradients. */
        FORECAST
    }

    /** Creates a model for training, whose weights are undefined until {@link #initialize}. */
    DeviceModel(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        DType compute) {
        this(device, spec, batch, memory, communicators, compute, Purpose.TRAINING);
    }

    /** Creates a model whose weights are undefined. */
    DeviceModel(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        DType compute, Purpose purpose) {
        this.device = device;
        this.memory = memory;
        this.compute = compute;
        model = spec.create(parameters, communicators);
        DeviceArena state = memory.state();
        Tensor values = state.f32(parameters.elements());
        Tensor copies = compute == DType.F32 ? values : state.allocate(compute, parameters.elements());
        parameters.bind(values, copies, purpose == Purpose.TRAINING ? state.f32(parameters.elements()) : null);
        prediction = state.allocate(DType.F32, spec.prediction(batch).extents());
    }

    /** Initializes the weights from a seed. They do not depend on the parallel layout. */
    public void initialize(long seed) {
        parameters.initialize(device, seed);
    }

    /** This rank's slices of all parameters. */
    public ParameterStore parameters() {
        return parameters;
    }

    /** The data type of matrix products. */
    public DType compute() {
        return compute;
    }

    /** The device that holds this model. */
    public Device device() {
        return device;
    }

    /** The latest prediction, (B, Cout, H, W), F32. A training step overwrites it with the gradient of the loss. */
    public Tensor prediction() {
        return prediction;
    }

    /** Predicts from {@code input} (B, Cin, H, W). {@code inspector} receives the output of every layer. */
    public void forward(Tensor input, Pass.Randomness randomness, Pass.Inspector inspector) {
        Pass pass = pass(randomness, inspector, parameter -> { });
        model.forward(prediction, input, pass);
        pass.discard();
    }

    /** Copies the first channels of each sample of {@code source} to {@code target}: as many as both images have. */
    void copyFirstChannels(Tensor target, Tensor source) {
        if (target.shape().equals(source.shape())) {
            device.ops().memory().copy(target, source);
            return;
        }
        long channels = Math.min(target.shape().extent(1), source.shape().extent(1));
        for (long sample = 0; sample < target.shape().extent(0); sample++) {
            device.ops().memory().copy(sample(target, sample).slice(0, channels),
                sample(source, sample).slice(0, channels));
        }
    }

    /** One of images (B, C, H, W): (C, H, W). */
    private static Tensor sample(Tensor images, long index) {
        Shape shape = images.shape();
        return images.slice(index, 1).reshape(shape.extent(1), shape.extent(2), shape.extent(3));
    }

    /** The layers of the model. */
    Model model() {
        return model;
    }

    /** A pass that uses this model's memory; {@code onGradient} receives each parameter whose gradient is complete. */
    Pass pass(Pass.Randomness randomness, Pass.Inspector inspector, Consumer<Parameter> onGradient) {
        return new Pass(device.ops(), compute, memory.kept(), memory.scratch(), randomness, onGradient)
            .inspectedBy(inspector);
    }

    /** The module tree of the model, in PyTorch's format. */
    @Override
    public String toString() {
        return model.toString();
    }
}
