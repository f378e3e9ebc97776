package org.isobar.train.step;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Communicators;
import org.isobar.model.ModelSpec;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.nn.Recompute;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * One rank's part of a model that predicts and is not trained: it has no gradients, no optimizer, and keeps no
 * activations of a block that is done. All ranks of a model's replica must call each method together.
 */
public final class Predictor {
    private final DeviceModel model;
    private final Tensor input; // (B, Cin, H, W)
    private final Consensus consensus;

    /**
     * Creates this rank's part of a model for local batches of {@code batch} samples, in {@code memory}, whose state
     * arena is then sealed. Its weights are zero. The caller owns the memory and the communicators.
     *
     * @param compute data type of matrix products, one that the device supports
     */
    public Predictor(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        DType compute) {
        DeviceArena state = memory.state();
        model = new DeviceModel(device, spec.with(Recompute.BLOCK), batch, memory, communicators, compute,
            DeviceModel.Purpose.FORECAST);
        device.ops().memory().fill(model.parameters().values(), 0); // padding
        input = state.allocate(DType.F32, spec.input(batch).extents());
        consensus = new Consensus(device, communicators, state.allocate(DType.F64, 2));
        state.seal();
    }

    /** This rank's slices of all weights. */
    public ParameterStore parameters() {
        return model.parameters();
    }

    /** The device that holds the model. */
    public Device device() {
        return model.device();
    }

    /** The normalized input, (B, Cin, H, W), F32, which the caller writes. */
    public Tensor input() {
        return input;
    }

    /** Computes the normalized prediction of {@link #input}, without dropout: (B, Cout, H, W), F32. */
    public Tensor predict() {
        model.forward(input, new Pass.None(), Pass.Inspector.NONE);
        return model.prediction();
    }

    /** Makes the prediction the first channels of the next input. The other channels stay. */
    public void advance() {
        model.copyFirstChannels(input, model.prediction());
    }

    /** The reductions by which ranks agree on a value. */
    public Consensus consensus() {
        return consensus;
    }
}
