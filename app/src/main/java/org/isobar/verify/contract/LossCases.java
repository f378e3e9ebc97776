package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;

import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceImages;

/** Cases of the loss, its gradient, and the score. */
final class LossCases {
    /** B, C, H, W. */
    private static final int[][] SIZES = {{1, 1, 2, 1}, {3, 2, 5, 7}, {2, 3, 32, 64}, {1, 20, 33, 47}};

    private LossCases() { }

    static List<ContractCase> cases() {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] size : SIZES) {
            String variant = size[0] + " x " + size[1] + " x " + size[2] + " x " + size[3];
            cases.add(loss(variant, size[0], size[1], size[2], size[3]));
            cases.add(backward(variant, size[0], size[1], size[2], size[3], 1));
            cases.add(backward(variant + ", scaled", size[0], size[1], size[2], size[3], 65536));
            cases.add(rmse(variant, size[0], size[1], size[2], size[3]));
        }
        cases.add(backwardOfPerfectSample());
        cases.add(partOfStep());
        cases.add(backwardOfPart());
        return cases;
    }

    private static ContractCase loss(String variant, int b, int c, int h, int w) {
        OperandTypes types = OperandTypes.SINGLE.with(DType.F64, "loss", "norms");
        return new ContractCase("relativeL2Loss", types, variant, bench -> {
            GuardedTensor prediction = bench.input("prediction", b, c, h, w);
            GuardedTensor target = bench.input("target", b, c, h, w);
            GuardedTensor loss = bench.output("loss", 1);
            GuardedTensor norms = bench.output("norms", b, 2);
            bench.ops().losses().relativeL2Loss(loss.tensor(), norms.tensor(), 0, prediction.tensor(),
                target.tensor());
            ExpectedTensor expected = ReferenceImages.norms(prediction.values(), target.values(), b);
            bench.expect(norms, expected);
            bench.expect(loss, ReferenceImages.loss(expected.values(), c * h * w));
        });
    }

    private static ContractCase backward(String variant, int b, int c, int h, int w, double scale) {
        return new ContractCase("relativeL2LossBackward", OperandTypes.SINGLE.with(DType.F64, "norms", "scale"),
            variant, bench -> {
            GuardedTensor prediction = bench.input("prediction", b, c, h, w);
            GuardedTensor target = bench.input("target", b, c, h, w);
            GuardedTensor dPrediction = bench.output("dPrediction", b, c, h, w);
            backward(bench, dPrediction, prediction, target, scale);
        });
    }

    /** In place, and with a sample whose difference is zero. */
    private static ContractCase backwardOfPerfectSample() {
        return new ContractCase("relativeL2LossBackward", OperandTypes.SINGLE.with(DType.F64, "norms", "scale"),
            "in place, with a perfect sample", bench -> {
            double[] values = bench.random("target", 3 * 2 * 4 * 5);
            double[] close = bench.random("prediction", values.length);
            System.arraycopy(values, 40, close, 40, 40);
            GuardedTensor prediction = bench.inOut("prediction", close, 3, 2, 4, 5);
            GuardedTensor target = bench.input("target", values, 3, 2, 4, 5);
            backward(bench, prediction, prediction, target, 2);
        });
    }

    private static void backward(OperationBench bench, GuardedTensor dPrediction, GuardedTensor prediction,
        GuardedTensor target, double scale) {
        int b = (int) target.tensor().shape().extent(0);
        double[] norms = ReferenceImages.norms(prediction.values(), target.values(), b).values();
        GuardedTensor normsProbe = bench.input("norms", norms, b, 2);
        GuardedTensor scaleProbe = bench.input("scale", new double[] {scale}, 1);
        bench.ops().losses().relativeL2LossBackward(dPrediction.tensor(), prediction.tensor(), target.tensor(),
            normsProbe.tensor(), 0, scaleProbe.tensor());
        bench.expect(dPrediction,
            ReferenceImages.lossBackward(prediction.values(), target.values(), norms, scale));
    }

    /** The third and fourth of a step's five samples: the loss is the mean over four. */
    private static ContractCase partOfStep() {
        return new ContractCase("relativeL2Loss", OperandTypes.SINGLE.with(DType.F64, "loss", "norms"),
            "part of a step", bench -> {
            double[] earlier = {3, 4, 1, 8};
            GuardedTensor prediction = bench.input("prediction", 2, 3, 4, 5);
            GuardedTensor target = bench.input("target", 2, 3, 4, 5);
            GuardedTensor loss = bench.output("loss", 1);
            GuardedTensor norms = bench.inOut("norms", Arrays.copyOf(earlier, 10), 5, 2);
            bench.ops().losses().relativeL2Loss(loss.tensor(), norms.tensor(), 2, prediction.tensor(),
                target.tensor());
            double[] own = ReferenceImages.norms(prediction.values(), target.values(), 2).values();
            double[] all = DoubleStream.concat(Arrays.stream(earlier), Arrays.stream(own)).toArray();
            bench.expect(loss, ReferenceImages.loss(all, 3 * 4 * 5));
        });
    }

    private static ContractCase backwardOfPart() {
        return new ContractCase("relativeL2LossBackward", OperandTypes.SINGLE.with(DType.F64, "norms", "scale"),
            "part of a step", bench -> {
            GuardedTensor prediction = bench.input("prediction", 2, 3, 4, 5);
            GuardedTensor target = bench.input("target", 2, 3, 4, 5);
            GuardedTensor dPrediction = bench.output("dPrediction", 2, 3, 4, 5);
            double[] own = ReferenceImages.norms(prediction.values(), target.values(), 2).values();
            double[] all = new double[10];
            System.arraycopy(own, 0, all, 4, own.length);
            GuardedTensor norms = bench.input("norms", all, 5, 2);
            GuardedTensor scale = bench.input("scale", new double[] {3}, 1);
            bench.ops().losses().relativeL2LossBackward(dPrediction.tensor(), prediction.tensor(), target.tensor(),
                norms.tensor(), 2, scale.tensor());
            bench.expect(dPrediction, ReferenceImages.lossBackward(prediction.values(), target.values(), own,
                3 * 2.0 / 5));
        });
    }

    private static ContractCase rmse(String variant, int b, int c, int h, int w) {
        return new ContractCase("weightedRmse", OperandTypes.SINGLE.with(DType.F64, "rmse"), variant, bench -> {
            GuardedTensor prediction = bench.input("prediction", b, c, h, w);
            GuardedTensor target = bench.input("target", b, c, h, w);
            GuardedTensor rmse = bench.output("rmse", c);
            bench.ops().losses().weightedRmse(rmse.tensor(), prediction.tensor(), target.tensor());
            bench.expect(rmse, ReferenceImages.weightedRmse(prediction.values(), target.values(), b, c, h, w));
        });
    }
}
