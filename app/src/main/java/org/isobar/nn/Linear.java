package org.isobar.nn;

import java.util.List;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Tensor;

/**
 * {@code y = x W^T + b} (PyTorch's {@code nn.Linear}) on one rank: x (.., K), W (N, K), b (N), y (.., N), or slices of
 * these. All activations are of the type that products are computed in; without a bias, y may be F32 besides.
 *
 * <p>Backward: {@code dx = dy W}, {@code dW += dy^T x}, {@code db += sum of dy over rows}. The two halves can be
 * called apart.
 */
public final class Linear implements Layer {
    /** Standard deviation of initial weights. */
    public static final double WEIGHT_STD = 0.02;

    private final List<String> modules;
    private final Parameter weight;
    private final Parameter bias;
    private final Bias use;

    /** What a linear layer does with a bias. Biases start at 0. */
    public enum Bias {
        /** Forward adds it. */
        ADDED,
        /** There is one, with its gradient, but somebody else adds it. */
        LEFT,
        /** There is none. */
        NONE
    }

    private Linear(List<String> modules, Parameter weight, Parameter bias, Bias use) {
        this.modules = modules;
        this.weight = weight;
        this.bias = bias;
        this.use = use;
    }

    /** A layer that is not cut. Declares {@code weight} and, where there is one, {@code bias} at {@code here}. */
    public Linear(ParameterScope here, long inputs, long outputs, Bias bias) {
        this(List.of(here.module()),
            here.declare("weight", new Initializer.Normal(WEIGHT_STD), Shard.whole(), outputs, inputs),
            bias == Bias.NONE ? null : bias(here, Shard.whole(), outputs), bias);
    }

    /** A slice of the outputs of one or more layers of the same input: weights and biases are cut by rows. */
    static Linear outputsCut(ParameterScope here, long inputs, long outputsEach, Bias bias, String... names) {
        Shard shard = Shard.columnParallel(here.layout().tensor().group());
        Parameter weight = here.stack(leaves(names, "weight"), new Initializer.Normal(WEIGHT_STD), shard, outputsEach,
            inputs);
        List<String> modules = List.of(names).stream().map(name -> name.isEmpty() ? here.module() : here.name(name))
            .toList();
        return new Linear(modules, weight, bias == Bias.NONE ? null
            : here.stack(leaves(names, "bias"), new Initializer.Constant(0), shard, outputsEach), bias);
    }

    /** A slice of the inputs: the weight is cut by columns, the bias is whole. */
    static Linear inputsCut(ParameterScope here, long inputs, long outputs, Bias bias) {
        Shard shard = Shard.rowParallel(here.layout().tensor().group());
        Parameter weight = here.declare("weight", new Initializer.Normal(WEIGHT_STD), shard, outputs, inputs);
        return new Linear(List.of(here.module()), weight,
            bias == Bias.NONE ? null : bias(here, Shard.whole(), outputs), bias);
    }

    private static Parameter bias(ParameterScope here, Shard shard, long outputs) {
        return here.declare("bias", new Initializer.Constant(0), shard, outputs);
    }

    /** "q.weight", "k.weight" of names "q", "k"; "weight" of the empty name. */
    private static List<String> leaves(String[] names, String leaf) {
        return List.of(names).stream().map(name -> name.isEmpty() ? leaf : name + "." + leaf).toList();
    }

    /** The bias; null if there is none. */
    public Parameter bias() {
        return bias;
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        multiply(y, x, use, pass);
        putOut(y, pass);
    }

    /** What {@link #forward} computes, but not yet this layer's output: {@code x W^T}, with the bias or without it. */
    void multiply(Tensor y, Tensor x, Bias what, Pass pass) {
        pass.ops().linear(y, x, weight.compute(),
            what == Bias.ADDED ? new Epilogue.Bias(bias.compute()) : Epilogue.NONE);
    }

    /** {@code y} is this layer's output. */
    void putOut(Tensor y, Pass pass) {
        pass.output(modules, y);
    }

    /** {@code preActivation = x W^T + b}, {@code y = GELU(preActivation)}. */
    void forwardGelu(Tensor y, Tensor preActivation, Tensor x, Pass pass) {
        pass.ops().linear(y, x, weight.compute(), new Epilogue.BiasGelu(bias.compute(), preActivation));
        putOut(preActivation, pass);
    }

    /**
     * Backward through the GELU of {@link #forwardGelu} and the bias, whose gradient is complete then;
     * {@link #backwardInput} and {@link #backwardWeightAlone} are to follow.
     *
     * @param dPreActivation written; may be {@code dy}
     * @param y              written: the activation again
     */
    void backwardGelu(Tensor dPreActivation, Tensor y, Tensor dy, Tensor preActivation, Pass pass) {
        pass.ops().biasGeluBackward(dPreActivation, y, bias.gradient(), dy, preActivation);
        pass.complete(bias);
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        backwardWeight(dy, x, pass);
        backwardInput(dx, dy, WriteMode.OVERWRITE, pass);
    }

    /** The half of backward that yields the gradient of the input. */
    public void backwardInput(Tensor dx, Tensor dy, WriteMode write, Pass pass) {
        pass.ops().linearBackwardInput(dx, dy, weight.compute(), write);
    }

    /** The half of backward that adds to the gradients of weight and bias. */
    public void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        backwardWeightAlone(dy, x, pass);
        if (bias != null) {
            pass.ops().biasBackward(bias.gradient(), dy);
            pass.complete(bias);
        }
    }

    /** Adds to the gradient of the weight, whatever becomes of that of the bias. */
    void backwardWeightAlone(Tensor dy, Tensor x, Pass pass) {
        pass.ops().linearBackwardWeight(weight.gradient(), dy, x);
        pass.complete(weight);
    }
}
