package org.isobar.model;

import org.isobar.distributed.Communicators;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Recompute;
import org.isobar.tensor.Shape;

/** A model that has not been made yet: its architecture with all extents. Models of equal specs are alike. */
public interface ModelSpec {
    /** Rows of an image. */
    int height();

    /** Columns of an image. */
    int width();

    /** Variables that the model reads. */
    int inChannels();

    /** Variables that the model predicts: the first of those that it reads. */
    int outChannels();

    /** Which activations are computed again in backward instead of being kept (activation checkpointing). */
    Recompute recompute();

    /** This spec with other activations computed again. */
    ModelSpec with(Recompute other);

    /**
     * Makes this rank's part of the model: declares its slices of all parameters in {@code parameters}, in the order of
     * the forward pass.
     */
    Model create(ParameterStore parameters, Communicators communicators);

    /** Shape of the input of {@code batch} samples, (B, Cin, H, W). */
    default Shape input(long batch) {
        return Shape.of(batch, inChannels(), height(), width());
    }

    /** Shape of the prediction, and of the target, of {@code batch} samples, (B, Cout, H, W). */
    default Shape prediction(long batch) {
        return Shape.of(batch, outChannels(), height(), width());
    }
}
