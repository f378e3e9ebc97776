package org.isobar.train.step;

import java.util.Arrays;

import org.isobar.device.Device;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;

/** Scores a model and the persistence forecast without training. All ranks must call each method together. */
public final class Evaluator {
    private final DeviceModel model;
    private final Device device;
    private final Communicator dataParallel;
    private final ScoreTensors scores;

    /** Averages the scores over {@code dataParallel}, the ranks that have the same weights and different samples. */
    Evaluator(DeviceModel model, Communicator dataParallel, ScoreTensors scores) {
        this.model = model;
        this.dataParallel = dataParallel;
        this.scores = scores;
        device = model.device();
    }

    /**
     * Computes the prediction without dropout and scores it against the target.
     *
     * @param input  normalized images (B, Cin, H, W)
     * @param target normalized images (B, Cout, H, W)
     */
    public Evaluation evaluate(Tensor input, Tensor target) {
        Tensor prediction = model.prediction();
        long batch = prediction.shape().extent(0);
        model.forward(input, new Pass.None(), Pass.Inspector.NONE);
        model.model().loss().forward(scores.loss(), scores.terms().slice(0, batch), 0, prediction, target,
            device.ops());
        device.ops().losses().weightedRmse(scores.rmse(), prediction, target);
        average(scores.rmseAndLoss());
        double[] values = device.read(scores.of(batch)).await();
        return new Evaluation(BatchLoss.of(Arrays.copyOfRange(values, scores.channels(), values.length)),
            Arrays.copyOf(values, scores.channels()));
    }

    /**
     * Scores the persistence forecast, which predicts that nothing changes: the first Cout channels of {@code input}
     * (B, Cin, H, W). Returns the latitude-weighted RMSE of each channel. Overwrites {@link DeviceModel#prediction}.
     */
    public double[] scorePersistence(Tensor input, Tensor target) {
        Tensor prediction = model.prediction();
        model.copyFirstChannels(prediction, input);
        device.ops().losses().weightedRmse(scores.rmse(), prediction, target);
        average(scores.rmse());
        return device.read(scores.rmse()).await();
    }

    private void average(Tensor values) {
        dataParallel.allReduce(values, Reduction.AVERAGE).await();
    }
}
