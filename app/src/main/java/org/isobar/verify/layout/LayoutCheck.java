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
 * Compares, on the ranks and devices at hand, what a model computes when it is cut with what it computes whole: every
 * rank compares its own slices. All ranks call {@link #run} together.
 *
 * <p>Errors are ||difference|| / ||whole|| of a tensor and |difference / whole| of a loss, the largest of all ranks.
 * Gradients of the keys' bias are left out: they are zero but for rounding.
 */
public final class LayoutCheck {
    private static final double TOLERANCE = 1e-5;
    private static final double LOSS_TOLERANCE = 1e-6;

    private final Device device;
    private final Communicators communicators;
    private final double dropout;
    private final int batch;

    /**
     * What one comparison found.
     *
     * @param what      "attention: gradient of attn.q.weight", say
     * @param error     the largest relative error of any rank
     * @param tolerance the most that is allowed
     */
    public record Result(String what, double error, double tolerance) {
        /** Whether the error is within the tolerance. */
        public boolean holds() {
            return error <= tolerance;
        }
    }

    /**
     * A check of the layout of {@code communicators}.
     *
     * @param dropout probability of dropout, and of drop-path in the last block
     * @param batch   samples of each replica of the whole model
     */
    public LayoutCheck(Device device, Communicators communicators, double dropout, int batch) {
        this.device = device;
        this.communicators = communicators;
        this.dropout = dropout;
        this.batch = batch;
    }

    /**
     * The model of the check: 65 tokens, which no number of ranks but 5, 13 and 65 cuts evenly.
     *
     * @throws UserException if the grid has more context-parallel ranks than that
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
     * Runs all comparisons: MLP, attention, block, and {@code steps} training steps of a whole model. Every rank gets
     * the same results.
     *
     * @throws org.isobar.distributed.CommunicationException if another rank has failed
     */
    public List<Result> run(int steps) {
        VitConfig config = model(communicators.grid(), dropout);
        List<Result> results = new ArrayList<>();
        try (TwinLayers twins = new TwinLayers(device, communicators, config)) {
            results.addAll(twins.compare("mlp",
                here -> new Mlp(here.child("mlp"), config.embed(), config.hidden(), dropout, config.recompute()),
                TOLERANCE));
            results.addAll(twins.compare("attention",
                here -> new SelfAttention(here.child("attn"), config.embed(), config.heads(), dropout), TOLERANCE));
            results.addAll(twins.compare("block", here -> new TransformerBlock(here.child("block"), config.embed(),
                config.heads(), config.hidden(), dropout, dropout, config.recompute()), TOLERANCE));
        }
        try (TwinModels twins = new TwinModels(device, communicators, config, batch)) {
            results.addAll(twins.compare(steps, LOSS_TOLERANCE, TOLERANCE));
        }
        return results;
    }
}
