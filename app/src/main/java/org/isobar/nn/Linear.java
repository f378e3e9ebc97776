package org.isobar.nn;

import java.util.List;

import org.isobar.device.Epilogue;
import org.isobar.device.Write;
import org.isobar.tensor.Tensor;

/**
 * {@code y = x W^T + b} (PyTorch's {@code nn.Linear}): x (.., K), W (N, K), b (N), y (.., N).
 *
 * <p>Backward: {@code dx = dy W}, {@code dW += dy^T x}, {@code db += sum of dy over rows}. The two halves can be
 * called apart.
 */
public final class Linear implements Layer {
    /** Standard deviation of initial weights. */
    public static final double WEIGHT_STD = 0.02;

    private final Parameter weight;
    private final Parameter bias;

    /** Whether a linear layer adds a bias. */
    public enum Bias {
        /** y = x W^T + b, with b starting at 0. */
        ZERO_INITIALIZED,
        /** y = x W^T. */
        NONE
    }

    /** A layer of given parameters; {@code bias} may be null. */
    Linear(Parameter weight, Parameter bias) {
        this.weight = weight;
        this.bias = bias;
    }

    /** Declares {@code weight} and, where wanted, {@code bias} at {@code here}. */
    public Linear(Scoped here, long inputs, long outputs, Bias bias) {
        this(here.declare("weight", new Initializer.Normal(WEIGHT_STD), outputs, inputs),
            bias == Bias.NONE ? null : here.declare("bias", new Initializer.Constant(0), outputs));
    }

    /** Several layers over the same input as one: {@code q.weight} above {@code k.weight}, and the biases likewise. */
    static Linear stacked(Scoped here, long inputs, long outputsEach, String... names) {
        return new Linear(
            here.stack(leaves(names, ".weight"), new Initializer.Normal(WEIGHT_STD), outputsEach, inputs),
            here.stack(leaves(names, ".bias"), new Initializer.Constant(0), outputsEach));
    }

    private static List<String> leaves(String[] names, String suffix) {
        return List.of(names).stream().map(name -> name + suffix).toList();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        pass.ops().linear(y, x, weight.value(), bias == null ? Epilogue.NONE : new Epilogue.Bias(bias.value()));
    }

    /** {@code preActivation = x W^T + b}, {@code y = GELU(preActivation)}. */
    void forwardGelu(Tensor y, Tensor preActivation, Tensor x, Pass pass) {
        pass.ops().linear(y, x, weight.value(), new Epilogue.BiasGelu(bias.value(), preActivation));
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        backwardWeight(dy, x, pass);
        backwardInput(dx, dy, Write.OVERWRITE, pass);
    }

    /** The half of backward that yields the gradient of the input. */
    public void backwardInput(Tensor dx, Tensor dy, Write write, Pass pass) {
        pass.ops().linearBackwardInput(dx, dy, weight.value(), write);
    }

    /** The half of backward that adds to the gradients of weight and bias. */
    public void backwardWeight(Tensor dy, Tensor x, Pass pass) {
        pass.ops().linearBackwardWeight(weight.gradient(), dy, x);
        if (bias != null) {
            pass.ops().biasBackward(bias.gradient(), dy);
        }
    }
}
