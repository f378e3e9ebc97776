package org.isobar.plan;

import org.isobar.distributed.SequenceSplit;
import org.isobar.vit.VitShape;

/**
 * Memory of the tutorial's program on a GPU, estimated from what autograd saves: per block the inputs of both norms,
 * the casts of the inputs of linear layers, q, k, v, the output of attention, and the hidden units before and after
 * GELU; for the images the prediction, its gradient and their differences.
 */
final class TutorialMemory {
    /** What the program takes before training, apart from weights: driver, loader, communicators, as its logs tell. */
    static final long OVERHEAD = (long) (9.6 * (1L << 30));
    private static final int SINGLE = 4;

    private TutorialMemory() { }

    /** Bytes of weights, gradients, moments and saved activations. */
    static long bytes(VitShape model, int tp, int cp, int batch, boolean half) {
        double amp = half ? 2 : SINGLE;
        double rows = (double) batch * SequenceSplit.sizes(model.tokens(), cp)[0];
        double stream = rows * model.embed();
        double embed = model.embed();
        double patch = (double) model.patch() * model.patch();
        double weights = model.depth() * (4 * embed * embed + 2 * embed * model.hidden()) / tp
            + embed * (model.tokens() + patch * (model.inChannels() + model.outChannels()));
        boolean distributed = tp * cp > 1;
        double units = rows * model.hidden() / tp;
        double casts = half ? 4 * amp * stream : 0;
        double block = 2 * SINGLE * stream + casts + amp * (2 + 2 * cp) * stream / tp
            + units * ((distributed ? SINGLE : amp) + amp);
        double images = batch * (double) model.height() * model.width() * model.outChannels();
        return (long) (weights * (4 * SINGLE + SINGLE + amp) + model.depth() * block + images * (4 * SINGLE + 2 * amp));
    }
}
