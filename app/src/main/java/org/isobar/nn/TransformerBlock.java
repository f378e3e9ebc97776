package org.isobar.nn;

import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.nn.LayerNorm.Statistics;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A pre-norm transformer block: {@code z = x + attention(norm1(x))}, {@code y = z + mlp(norm2(z))}, each branch with
 * stochastic depth. The residual stream x, z, y and its gradient are F32. The branches have the compute type.
 *
 * <p>Saved for backward: z and the statistics of both norms. Backward recomputes the outputs of the norms. The
 * gradient of the residual stream stays in one tensor, to which each branch adds its gradient. All gradients that a
 * norm has to give, of the stream and of the branch before it with its last bias, come from one operation.
 */
public final class TransformerBlock implements Layer {
    private final List<String> modules;
    private final LayerNorm norm1;
    private final SelfAttention attention;
    private final DropPath attentionPath;
    private final LayerNorm norm2;
    private final Mlp mlp;
    private final DropPath mlpPath;

    private record Kept(Statistics statistics1, Tensor z, Statistics statistics2) { }

    /**
     * Declares {@code norm1}, {@code attn}, {@code norm2} and {@code mlp} at {@code here}.
     *
     * @param dropout  probability for attention, projection and both dropouts of the mlp
     * @param dropPath probability of dropping a branch
     * @param recompute activations of its mlp to recompute; to recompute the whole block, wrap it in
     *                  {@link RecomputedLayer}
     */
    public TransformerBlock(ParameterScope here, long channels, long heads, long hidden, double dropout,
        double dropPath,
        Recompute recompute) {
        modules = List.of(here.module());
        norm1 = new LayerNorm(here.child("norm1"), channels);
        attention = new SelfAttention(here.child("attn"), channels, heads, dropout);
        attentionPath = new DropPath(here.name("attn.drop_path"), dropPath);
        norm2 = new LayerNorm(here.child("norm2"), channels);
        mlp = new Mlp(here.child("mlp"), channels, hidden, dropout, recompute);
        mlpPath = new DropPath(here.name("mlp.drop_path"), dropPath);
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.allocate(pass.compute(), x.shape().extents());
            forward(y, x, normed, norm1.forward(normed, x, pass), pass);
        }
    }

    /** Computes {@code normed = norm1(x)}, the input of {@link #forward(Tensor, Tensor, Tensor, Statistics, Pass)}. */
    Statistics norm1(Tensor normed, Tensor x, Pass pass) {
        return norm1.forward(normed, x, pass);
    }

    /** Computes y from x and {@code normed = norm1(x)}, which is overwritten. */
    void forward(Tensor y, Tensor x, Tensor normed, Statistics statistics1, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor branch = scratch.allocate(pass.compute(), x.shape().extents());
            Kept kept = branches(branch, x, normed, statistics1, pass);
            mlpPath.forward(y, kept.z(), branch, pass);
            pass.output(modules, y);
            pass.push(this, kept);
        }
    }

    /**
     * Computes y from x and {@code normed = norm1(x)}, and overwrites {@code normed} with norm1(y) of the next block:
     * the last sum of this block and the norm are one operation. Returns the statistics of that norm.
     */
    Statistics forward(Tensor y, Tensor x, Tensor normed, Statistics statistics1, TransformerBlock next, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor branch = scratch.allocate(pass.compute(), x.shape().extents());
            Kept kept = branches(branch, x, normed, statistics1, pass);
            Statistics ofNext = next.norm1.forwardResidual(normed, y, kept.z(), branch, mlpPath.mask(pass), pass);
            pass.output(modules, y);
            next.norm1.report(normed, pass);
            pass.push(this, kept);
            return ofNext;
        }
    }

    /** Computes all but the last sum: {@code branch = mlp(norm2(z))}. */
    private Kept branches(Tensor branch, Tensor x, Tensor normed, Statistics statistics1, Pass pass) {
        Tensor z = pass.keep(DType.F32, x.shape().extents());
        attention.forward(branch, normed, pass);
        Statistics statistics2 = norm2.forwardResidual(normed, z, x, branch, attentionPath.mask(pass), pass);
        norm2.report(normed, pass);
        mlp.forward(branch, normed, pass);
        return new Kept(statistics1, z, statistics2);
    }

    /** See {@link Layer}. {@code dx} may be {@code dy}, which saves a copy. */
    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        if (!dx.aliases(dy)) {
            pass.ops().memory().copy(dx, dy);
        }
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor room = passesGradients(pass) ? dx : scratch.allocate(pass.compute(), x.shape().extents());
            mlpGradient(dx, room, pass).compute(dx, pass);
            backward(dx, BranchGradient.none(dx), x, room, pass);
        }
    }

    /** Whether the gradients of both branches are that of the stream: see {@link DropPath#passesGradient}. */
    boolean passesGradients(Pass pass) {
        return attentionPath.passesGradient(pass) && mlpPath.passesGradient(pass);
    }

    /** The gradient of the last branch, to be computed from that of y before {@link #backward}. */
    BranchGradient mlpGradient(Tensor dStream, Tensor room, Pass pass) {
        return mlpPath.gradient(mlp, dStream, room, pass);
    }

    /**
     * Turns the gradient of y into that of x and, in the same operation, computes that of the branch whose sum x is.
     *
     * @param dStream gradient of y and then of x
     * @param before  gradient of the branch whose sum x is; may be stored in {@code room}
     * @param room    has {@link #mlpGradient}; overwritten
     */
    void backward(Tensor dStream, BranchGradient before, Tensor x, Tensor room, Pass pass) {
        Kept kept = pass.pop(this, Kept.class);
        BranchGradient ofAttention = attentionPath.gradient(attention, dStream, room, pass);
        backward(mlp, mlpGradient(dStream, room, pass), norm2, kept.statistics2(), kept.z(), dStream, ofAttention,
            pass);
        backward(attention, ofAttention, norm1, kept.statistics1(), x, dStream, before, pass);
    }

    /**
     * Backward of {@code x + branch(norm(x))}. Turns the gradient of the sum into that of x and, in the same operation,
     * computes that of the branch whose sum x is. This operation also recomputes norm(x), over its gradient, unless
     * {@code branch} needs it before.
     */
    private static void backward(Branch branch, BranchGradient gradient, LayerNorm norm, Statistics statistics,
        Tensor x, Tensor dStream, BranchGradient before, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor dNormed = scratch.allocate(pass.compute(), x.shape().extents());
            if (branch.readsInputLast()) {
                Consumer<Tensor> rest = gradient.backward(branch, dNormed, Optional.empty(), scratch, pass);
                norm.backwardResidual(dStream, before, dNormed, x, statistics, Optional.of(dNormed), pass);
                rest.accept(dNormed);
            } else {
                Tensor normed = scratch.allocate(pass.compute(), x.shape().extents());
                norm.recompute(normed, x, statistics, pass);
                gradient.backward(branch, dNormed, Optional.of(normed), scratch, pass).accept(normed);
                norm.backwardResidual(dStream, before, dNormed, x, statistics, Optional.empty(), pass);
            }
        }
    }
}
