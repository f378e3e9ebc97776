package org.isobar.model;

import java.util.Optional;

import org.isobar.distributed.Communicators;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Recompute;
import org.isobar.tensor.Shape;

/** Specification of a model: its architecture with all sizes. Equal specs create identical models. */
public interface ModelSpec {
    /** Rows of an image. */
    int height();

    /** Columns of an image. */
    int width();

    /** Number of input variables. */
    int inChannels();

    /** Number of variables that the model predicts: the first of its input variables. */
    int outChannels();

    /** Which activations backward recomputes instead of keeping them (activation checkpointing). */
    Recompute recompute();

    /** A copy of this spec with another choice of recomputed activations. */
    ModelSpec with(Recompute other);

    /** Whether {@code tensor} ranks can share each layer's weights, and {@code context} ranks an image's tokens. */
    default boolean canBeCut(int tensor, int context) {
        return true;
    }

    /**
     * Creates this rank's part of the model and declares its slices of all parameters in {@code parameters}, in the
     * order of the forward pass.
     */
    Model create(ParameterStore parameters, Communicators communicators);

    /** The forward pass for export to ONNX. Empty if this kind of model cannot be exported to it. */
    default Optional<ForwardGraph> forwardGraph() {
        return Optional.empty();
    }

    /** Shape of the input of {@code batch} samples, (B, Cin, H, W). */
    default Shape input(long batch) {
        return Shape.of(batch, inChannels(), height(), width());
    }

    /** Shape of the prediction, and of the target, of {@code batch} samples, (B, Cout, H, W). */
    default Shape prediction(long batch) {
        return Shape.of(batch, outChannels(), height(), width());
    }
}
