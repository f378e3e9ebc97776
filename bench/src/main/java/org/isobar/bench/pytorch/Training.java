package org.isobar.bench.pytorch;

import java.util.ArrayList;
import java.util.List;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.isobar.bench.measure.StepResult;

/** Training steps on one batch in memory. */
final class Training {
    private static final double NANO = 1e-9;

    private final VisionTransformer model;
    private final TensorVector weights;
    private final FusedAdam adam;
    private final Tensor image;
    private final Tensor target;
    private final List<Double> losses = new ArrayList<>();

    Training(StepResult like) {
        StepResult.Model extents = like.model();
        model = new VisionTransformer(extents, Products.of(like.products()));
        weights = model.weights().all();
        adam = new FusedAdam(weights, like.learningRate());
        long rows = extents.imgSize().get(0);
        long columns = extents.imgSize().get(1);
        image = Weights.seeded("input", 0, 1, like.batch(), extents.inChannels(), rows, columns);
        target = Weights.seeded("target", 0, 1, like.batch(), extents.outChannels(), rows, columns);
    }

    /** The losses of all steps so far. */
    List<Double> losses() {
        return losses;
    }

    /** Runs one step; returns its seconds. */
    @SuppressWarnings("try") // the scope is active while it exists
    double step() {
        long start = System.nanoTime();
        try (PointerScope scope = new PointerScope()) {
            Tensor loss = loss();
            adam.step(torch.grad(new TensorVector(loss), weights));
            losses.add(loss.item_double());
        }
        return (System.nanoTime() - start) * NANO;
    }

    /** Mean over the samples of ||prediction - target|| / ||target||. */
    private Tensor loss() {
        try (Tensor prediction = model.forward(image)) {
            return norms(prediction.sub(target)).div(norms(target)).mean();
        }
    }

    /** L2 norm of each sample. On a CPU, linalg_vector_norm over 20 million fp32 values has an error of 1e-5. */
    private static Tensor norms(Tensor samples) {
        return samples.flatten(1, -1).square().sum(1).sqrt();
    }
}
