package org.isobar.nn;

import java.util.List;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Tensor;

/**
 * A linear layer {@code y = x W^T + b} (PyTorch's {@code nn.Linear}) on one rank: x (.., K), W (N, K), b (N), y (..,
 * N), or slices of these. All activations have the compute type; without a bias, y may also be F32.
 *
 * <p>Backward: {@code dx = dy W}, {@code dW += dy^T x}, {@code db += sum of dy over rows}. Layers that overlap these
 * with communication call the individual methods.
 */
public final class Linear implements Layer {
    /** Standard deviation of initial weights. */
    public static final double WEIGHT_STD = 0.02;

    private final List<String> modules;
    private final Parameter weight;
    private final Parameter bias;

    /** Whether a linear layer has a bias. Biases are initialized to 0. */
    public enum Bias {
        /** Forward adds it. */
        ADDED,
        /** The layer has no bias. */
        NONE
    }

    private Linear(List<String> modules, Parameter weight, Parameter bias) {
        this.modules = modules;
        this.weight = weight;
        this.bias = bias;
    }

    /** Creates an unsharded layer. Declares {@code weight} and, if the layer has one, {@code bias} at {@code here}. */
    public Linear(ParameterScope here, long inputs, long outputs, Bias bias) {
        this(List.of(here.module()),
            here.declare("weight", new Initializer.Normal(WEIGHT_STD), Shard.whole(), outputs, inputs),
            bias == Bias.NONE ? null : bias(here, outputs));
    }

    /** Creates a slice of the outputs of one or more layers of one input: weights and biases are sharded by rows. */
    static Linear outputsCut(ParameterScope here, long inputs, long outputsEach, String... names) {
        Shard shard = Shard.columnParallel(here.layout().tensor().group());
        Parameter weight = here.stack(leaves(names, "weight"), new Initializer.Normal(WEIGHT_STD), shard, outputsEach,
            inputs);
        List<String> modules = List.of(names).stream().map(name -> name.isEmpty() ? here.module() : here.name(name))
            .toList();
        return new Linear(modules, weight,
            here.stack(leaves(names, "bias"), new Initializer.Constant(0), shard, outputsEach));
    }

    /** Creates a slice of the inputs: the weight is sharded by columns, the bias is not sharded. */
    static Linear inputsCut(ParameterScope here, long inputs, long outputs) {
        Shard shard = Shard.rowParallel(here.layout().tensor().group());
        Parameter weight = here.declare("weight", new Initializer.Normal(WEIGHT_STD), shard, outputs, inputs);
        return new Linear(List.of(here.module()), weight, bias(here, outputs));
    }

    private static Parameter bias(ParameterScope here, long outputs) {
        return here.declare("bias", new Initializer.Constant(0), Shard.whole(), outputs);
    }

    /** Returns "q.weight", "k.weight" for the names "q", "k", and "weight" for the empty name. */
    private static List<String> leaves(String[] names, String leaf) {
        return List.of(names).stream().map(name -> name.isEmpty() ? leaf : name + "." + leaf).toList();
    }

    /** The bias; null if there is none. */
    public Parameter bias() {
        return bias;
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        multiply(y, x, bias == null ? Epilogue.NONE : addBias(), pass);
        report(y, pass);
    }

    /** The epilogue that adds this layer's bias. */
    Epilogue addBias() {
        return new Epilogue.Bias(bias.compute());
    }

    /** Computes {@code y = x W^T} and the epilogue. The caller reports the layer's output by {@link #report}. */
    void multiply(Tensor y, Tensor x, Epilogue epilogue, Pass pass) {
        pass.ops().products().linear(y, x, weight.compute(), epilogue);
    }

    /** Passes {@code y}, this layer's output, to the inspector of the pass. */
    void report(Tensor y, Pass pass) {
        pass.output(modules, y);
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        backwardParameters(dy, x, pass);
        backwardInput(dx, dy, WriteMode.OVERWRITE, pass);
    }

    /** Computes the gradient of the input. */
    void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        pass.ops().products().linearBackwardInput(dx, dy, weight.compute(), write);
    }

    /** Adds to the gradients of weight and bias. */
    void backwardParameters(Tensor dy, Tensor x, Pass pass) {
        if (bias == null) {
            backwardWeight(dy, x, pass);
        } else {
            pass.ops().products().linearBackwardParameters(weight.gradient(), bias.gradient(), dy, x);
            pass.complete(weight);
            pass.complete(bias);
        }
    }

    /** Adds to the gradient of the weight only, for callers that compute the bias gradient in another operation. */
    void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        pass.ops().products().linearBackwardWeight(weight.gradient(), dy, x);
        pass.complete(weight);
    }
}
