package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelProvider;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.device.Footprint;
import org.isobar.device.LatitudeWeights;
import org.isobar.device.ops.LossOps;
import org.isobar.tensor.Tensor;

/** The relative L2 loss, its gradient, and the latitude-weighted RMSE. Sums are taken in double, in two kernels. */
final class CudaLoss implements LossOps {
    private static final String LOSS = "relative_l2_loss.cu";
    private static final String RMSE = "weighted_rmse.cu";
    private static final int THREADS = 256;
    private static final int FINISHING_THREADS = 1024;
    /** Elements of a sample whose squares one block sums. */
    private static final long CHUNK = 16384;
    /** Pixels per block of the weighted RMSE, rounded down to whole rows, at least one row. */
    private static final long PIXELS = 8192;

    private final OpResources context;
    private final LoadedKernel sumSquares;
    private final LoadedKernel lossOfSquares;
    private final LoadedKernel lossBackward;
    private final LoadedKernel sumWeightedSquares;
    private final LoadedKernel rmseOfSums;

    CudaLoss(OpResources context) {
        this.context = context;
        KernelProvider kernels = context.kernels();
        sumSquares = kernels.kernel(LOSS, "sum_squares");
        lossOfSquares = kernels.kernel(LOSS, "loss_of_squares");
        lossBackward = kernels.kernel(LOSS, "relative_l2_loss_backward");
        sumWeightedSquares = kernels.kernel(RMSE, "sum_weighted_squares");
        rmseOfSums = kernels.kernel(RMSE, "rmse_of_sums");
    }

    static List<KernelVariant> variants() {
        return Stream.concat(
            Stream.of("sum_squares", "loss_of_squares", "relative_l2_loss_backward")
                .map(function -> new KernelVariant(LOSS, function, List.of())),
            Stream.of("sum_weighted_squares", "rmse_of_sums")
                .map(function -> new KernelVariant(RMSE, function, List.of()))).toList();
    }

    /**
     * Bytes of partial sums: two sums per chunk for the loss, or one per block of rows for the RMSE. The RMSE has at
     * most two blocks per PIXELS pixels, plus one per plane.
     */
    static long workspaceBytes(Footprint footprint) {
        long planes = footprint.imagePlanes();
        long ofLoss = 2 * (footprint.largestImages() / CHUNK + planes);
        long ofScore = 2 * footprint.largestImages() / PIXELS + planes;
        return Math.max(ofLoss, ofScore) * Double.BYTES;
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, long first, Tensor prediction, Tensor target) {
        long batch = prediction.shape().extent(0);
        long sample = prediction.elements() / batch;
        long chunks = Math.ceilDiv(sample, CHUNK);
        long partial = context.workspace().address(2 * batch * chunks * Double.BYTES);
        context.launcher().call(sumSquares).int64(partial).tensor(prediction).tensor(target).int64(sample)
            .launch(chunks, batch, 1, THREADS, 0);
        context.launcher().call(lossOfSquares).tensor(loss).tensor(norms).int64(partial).int32(first).int32(batch)
            .int32(chunks).launch(1, FINISHING_THREADS);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, long first,
        Tensor scale) {
        long batch = prediction.shape().extent(0);
        long sample = prediction.elements() / batch;
        context.launcher().call(lossBackward).tensor(dPrediction).tensor(prediction).tensor(target).tensor(norms)
            .tensor(scale).int64(sample).int32(first).int32(norms.shape().extent(0))
            .launch(ElementGrid.blocks(sample), batch, 1, ElementGrid.THREADS, 0);
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        long batch = prediction.shape().extent(0);
        long channels = prediction.shape().extent(1);
        long height = prediction.shape().extent(2);
        long width = prediction.shape().extent(3);
        long rows = Math.max(1, PIXELS / width);
        long chunks = Math.ceilDiv(height, rows);
        long partial = context.workspace().address(batch * channels * chunks * Double.BYTES);
        context.launcher().call(sumWeightedSquares).int64(partial).tensor(prediction).tensor(target).int32(height)
            .int32(width).int32(rows).float64(LatitudeWeights.RADIANS_PER_DEGREE)
            .launch(batch * channels, chunks, 1, THREADS, 0);
        context.launcher().call(rmseOfSums).tensor(rmse).int64(partial).int32(batch).int32(chunks).int32(height)
            .int32(width).float64(LatitudeWeights.RADIANS_PER_DEGREE).launch(channels, THREADS);
    }
}
