package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.function.Function;

import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every layer against finite differences. */
class LayerGradientTest {
    private static final long[] SHAPE = {2, 13, 24}; // (B, T, C)
    private static final Pass.Randomness EVALUATION = new Pass.None();

    @Test
    void linear() {
        check(here -> new Linear(here, 24, 17, Linear.Bias.ADDED), EVALUATION, 17);
        check(here -> new Linear(here, 24, 5, Linear.Bias.NONE), EVALUATION, 5);
    }

    @Test
    void layerNorm() {
        check(NormLayer::new, EVALUATION, 24);
    }

    @Test
    void dropout() {
        IndexSpan tokens = IndexSpan.whole(SHAPE[1]);
        check(here -> new MaskLayer(new DropoutLayer(here.name("drop"), 0.3, tokens, IndexSpan.whole(24))),
            GradientCheck.training(2), 24);
    }

    @Test
    void selfAttention() {
        check(here -> new SelfAttention(here, 24, 3, 0), EVALUATION, 24);
    }

    @Test
    void selfAttentionWithDropout() {
        check(here -> new SelfAttention(here, 24, 2, 0.2), GradientCheck.training(2), 24);
    }

    @Test
    void mlp() {
        check(here -> new Mlp(here, 24, 50, 0, Recompute.NONE), EVALUATION, 24);
    }

    @Test
    void mlpWithDropout() {
        check(here -> new Mlp(here, 24, 50, 0.2, Recompute.NONE), GradientCheck.training(2), 24);
    }

    @Test
    void mlpThatKeepsNothing() {
        check(here -> new Mlp(here, 24, 50, 0.2, Recompute.MLP), GradientCheck.training(2), 24);
    }

    @Test
    void block() {
        check(here -> new TransformerBlock(here, 24, 4, 40, 0, 0, Recompute.NONE), EVALUATION, 24);
    }

    @Test
    void blockThatKeepsNothing() {
        check(here -> new RecomputedLayer(new TransformerBlock(here, 24, 4, 40, 0.1, 0.4, Recompute.NONE)),
            GradientCheck.training(2), 24);
    }

    @Test
    void blockWithDropoutAndDropPath() {
        check(here -> new TransformerBlock(here, 24, 4, 40, 0.1, 0.4, Recompute.NONE), GradientCheck.training(2), 24);
    }

    @Test
    void stack() {
        check(here -> stack(here, 0, 0, Recompute.NONE), EVALUATION, 24);
    }

    @ParameterizedTest
    @EnumSource
    void stackWithDropoutAndDropPath(Recompute recompute) {
        check(here -> stack(here, 0.1, 0.4, recompute), GradientCheck.training(2), 24);
    }

    /** Two blocks, of which the second has drop-path. */
    private static TransformerStack stack(ParameterScope here, double dropout, double dropPath, Recompute recompute) {
        return new TransformerStack(List.of(
            new TransformerBlock(here.child("0"), 24, 4, 40, dropout, 0, recompute),
            new TransformerBlock(here.child("1"), 24, 4, 40, dropout, dropPath, recompute)), recompute);
    }

    @Test
    void wrongGradientIsSeen() {
        assertThrows(AssertionError.class, () -> check(here -> new WrongLayer(
            new Linear(here, 24, 24, Linear.Bias.ADDED)), EVALUATION, 24));
    }

    private static void check(Function<ParameterScope, Layer> build, Pass.Randomness randomness, long outputs) {
        try (GradientCheck check = new GradientCheck(build, randomness, SHAPE, outputs)) {
            check.check();
        }
    }

    /** A layer norm as a layer that keeps its own statistics. */
    private static final class NormLayer implements Layer {
        private final LayerNorm norm;

        NormLayer(ParameterScope here) {
            norm = new LayerNorm(here, SHAPE[2]);
        }

        @Override
        public void forward(Tensor y, Tensor x, Pass pass) {
            pass.push(this, norm.forward(y, x, pass));
        }

        @Override
        public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
            norm.backward(dx, dy, x, pass.pop(this, LayerNorm.Statistics.class), WriteMode.OVERWRITE, pass);
        }
    }

    /** Dropout of an activation as a layer of its own. */
    private record MaskLayer(DropoutLayer dropout) implements Layer {
        @Override
        public void forward(Tensor y, Tensor x, Pass pass) {
            pass.ops().memory().copy(y, x);
            dropout.apply(y, pass);
        }

        @Override
        public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
            pass.ops().memory().copy(dx, dy);
            dropout.apply(dx, pass);
        }
    }

    /** Takes one sample's input gradient for another's: proves that the check can fail. */
    private record WrongLayer(Linear inner) implements Layer {
        @Override
        public void forward(Tensor y, Tensor x, Pass pass) {
            inner.forward(y, x, pass);
        }

        @Override
        public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
            inner.backward(dx, dy, x, pass);
            pass.ops().memory().copy(dx.slice(0, 1), dx.slice(1, 1));
        }
    }
}
