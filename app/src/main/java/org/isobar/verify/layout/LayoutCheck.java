package org.isobar.verify.layout;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.nn.Mlp;
import org.isobar.nn.SelfAttention;
import org.isobar.nn.TransformerBlock;
import org.isobar.vit.VitConfig;

/**
 * Compares layers and models that are partitioned over the present ranks with the same layers and models on one rank.
 * Each rank compares its own slices. All ranks call {@link #run} together.
 *
 * <p>The error of a tensor is ||difference|| / ||whole||, that of a loss |difference / whole|; the largest of all ranks
 * counts. Gradients of the key bias are not compared, because they are zero except for rounding.
 */
public final class LayoutCheck {
    private static final double TOLERANCE = 1e-5;
    private static final double LOSS_TOLERANCE = 1e-6;

    private final Device device;
    private final Communicators communicators;
    private final double dropout;
    private final int batch;

    /**
     * Creates a check of the layout of {@code communicators}.
     *
     * @param dropout probability of dropout, and of drop-path in the last block
     * @param batch   samples per data-parallel replica
     */
    public LayoutCheck(Device device, Communicators communicators, double dropout, int batch) {
        this.device = device;
        this.communicators = communicators;
        this.dropout = dropout;
        this.batch = batch;
    }

    /**
     * Returns the configuration of the model that is checked. It has 65 tokens, which only 5, 13 or 65 ranks divide
     * evenly.
     *
     * @throws UserException if the grid has more context-parallel ranks than tokens
     */
    public static VitConfig model(ProcessGrid grid, double dropout) {
        int tensor = grid.size(Axis.TP);
        int heads = 8 % tensor == 0 ? 8 : tensor;
        VitConfig model = new VitConfig(40, 104, 8, 3, 3, 8 * heads, 2, heads, 32 * heads, dropout);
        if (grid.size(Axis.CP) > model.tokens()) {
            throw new UserException("the check's model has " + model.tokens() + " tokens, too few for "
                + grid.size(Axis.CP) + " context-parallel ranks; check a smaller --context_parallel");
        }
        return model;
    }

    /**
     * Compares an MLP, attention, a block, and {@code steps} training steps of a model. Every rank gets the same
     * results.
     *
     * @throws org.isobar.distributed.CommunicationException if another rank has failed
     */
    public List<LayoutDeviation> run(int steps) {
        VitConfig config = model(communicators.grid(), dropout);
        List<LayoutDeviation> results = new ArrayList<>();
        try (LayerComparison layers = new LayerComparison(device, communicators, config)) {
            results.addAll(layers.compare("mlp",
                scope -> new Mlp(scope.child("mlp"), config.embed(), config.hidden(), dropout, config.recompute()),
                TOLERANCE));
            results.addAll(layers.compare("attention",
                scope -> new SelfAttention(scope.child("attn"), config.embed(), config.heads(), dropout), TOLERANCE));
            results.addAll(layers.compare("block", scope -> new TransformerBlock(scope.child("block"), config.embed(),
                config.heads(), config.hidden(), dropout, dropout, config.recompute()), TOLERANCE));
        }
        try (ModelComparison models = new ModelComparison(device, communicators, config, batch)) {
            results.addAll(models.compare(steps, LOSS_TOLERANCE, TOLERANCE));
        }
        return results;
    }
}
