package org.isobar.nn;

import java.util.List;
import java.util.Optional;

import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Layer normalization over channels (Ba, Kiros, Hinton, 2016): {@code y = (x - mean) / sqrt(var + eps) gamma + beta}.
 *
 * <p>The input, the statistics, gamma and beta are F32. The output has the compute type.
 *
 * <p>The output is cheap to recompute. Callers therefore keep only the {@link Statistics} and {@link #recompute} the
 * output in backward.
 */
public final class LayerNorm {
    /** The tutorial's epsilon. */
    public static final double EPSILON = 1e-6;

    private final List<String> modules;
    private final Parameter gamma;
    private final Parameter beta;

    /**
     * The row statistics that backward needs besides the input.
     *
     * @param mean   (B, T)
     * @param invStd (B, T): 1 / sqrt(var + eps)
     */
    public record Statistics(Tensor mean, Tensor invStd) { }

    /** Declares {@code weight} (gamma) and {@code bias} (beta) at {@code here}. */
    public LayerNorm(ParameterScope here, long channels) {
        modules = List.of(here.module());
        gamma = here.declare("weight", new Initializer.Constant(1), Shard.whole(), channels);
        beta = here.declare("bias", new Initializer.Constant(0), Shard.whole(), channels);
    }

    /** Computes {@code y = norm(x)}, both (B, T, C). The statistics live until the end of the pass. */
    public Statistics forward(Tensor y, Tensor x, Pass pass) {
        Statistics statistics = statistics(x, pass);
        pass.ops().norms()
            .layerNorm(y, statistics.mean(), statistics.invStd(), x, gamma.value(), beta.value(), EPSILON);
        report(y, pass);
        return statistics;
    }

    /**
     * Computes {@code z = x + mask * branch} and {@code y = norm(z)} in one operation. The statistics live until the
     * end of the pass. The caller reports the layer's output by {@link #report}.
     */
    Statistics forwardResidual(Tensor y, Tensor z, Tensor x, Tensor branch, Dropout mask, Pass pass) {
        Statistics statistics = statistics(x, pass);
        pass.ops().norms()
            .residualLayerNorm(y, z, statistics.mean(), statistics.invStd(), x, branch, mask, gamma.value(),
            beta.value(), EPSILON);
        return statistics;
    }

    /** Passes {@code y}, this layer's output, to the inspector of the pass. */
    void report(Tensor y, Pass pass) {
        pass.output(modules, y);
    }

    private static Statistics statistics(Tensor x, Pass pass) {
        long batch = x.shape().extent(0);
        long tokens = x.shape().extent(1);
        return new Statistics(pass.keep(DType.F32, batch, tokens), pass.keep(DType.F32, batch, tokens));
    }

    /** Recomputes {@code y = norm(x)} from the statistics of the forward pass. */
    public void recompute(Tensor y, Tensor x, Statistics statistics, Pass pass) {
        pass.ops().norms()
            .layerNormRecompute(y, x, statistics.mean(), statistics.invStd(), gamma.value(), beta.value());
    }

    /**
     * Backward of {@link #forwardResidual}: adds to {@code dz}, which then is the gradient of x as well, and computes
     * the gradient of the branch. Adds to the gradients of gamma and beta, and of the branch's last bias if it is
     * given; then all of this is one operation. Recomputes the norm's output in {@code y}, which may be {@code dy}, if
     * it is given.
     */
    void backwardResidual(Tensor dz, BranchGradient branch, Tensor dy, Tensor z, Statistics statistics,
        Optional<Tensor> y, Pass pass) {
        Optional<RecomputedNorm> output = y.map(recomputed -> new RecomputedNorm(recomputed, beta.value()));
        if (branch.lastBias().isEmpty()) {
            backward(dz, dy, z, statistics, WriteMode.ADD, output, pass);
            branch.compute(dz, pass);
            return;
        }
        Parameter bias = branch.lastBias().get();
        pass.ops().norms().residualLayerNormBackward(dz, new BiasedGradient(branch.dBranch(), branch.mask(),
            bias.gradient()), gamma.gradient(), beta.gradient(), dy, z, statistics.mean(), statistics.invStd(),
            gamma.value(), output);
        pass.complete(bias);
        pass.complete(gamma);
        pass.complete(beta);
    }

    /** Computes {@code dx} from {@code dy}, overwriting or adding, and adds to the gradients of gamma and beta. */
    public void backward(Tensor dx, Tensor dy, Tensor x, Statistics statistics, WriteMode write, Pass pass) {
        backward(dx, dy, x, statistics, write, Optional.empty(), pass);
    }

    private void backward(Tensor dx, Tensor dy, Tensor x, Statistics statistics, WriteMode write,
        Optional<RecomputedNorm> output, Pass pass) {
        pass.ops().norms().layerNormBackward(dx, gamma.gradient(), beta.gradient(), dy, x, statistics.mean(),
            statistics.invStd(), gamma.value(), write, output);
        pass.complete(gamma);
        pass.complete(beta);
    }
}
