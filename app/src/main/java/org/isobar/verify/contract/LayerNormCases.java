package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ReferenceLayerNorm;

/** Cases of layer normalization: forward, recomputed and backward. */
final class LayerNormCases {
    private static final double EPSILON = 1e-6;

    /** Whether and where a backward pass recomputes the output. */
    private enum Output { NONE, APART, OVER_DY }

    private LayerNormCases() { }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] size : EdgeSizes.matrices()) {
            String variant = "of " + size[0] + " x " + size[1];
            cases.add(forward(a, variant, size[0], size[1], 0));
            cases.add(recompute(a, variant, size[0], size[1]));
            cases.add(backward(a, variant, size[0], size[1], 0, WriteMode.OVERWRITE, Output.NONE));
            cases.add(backward(a, variant + ", ADD, y over dy", size[0], size[1], 0, WriteMode.ADD, Output.OVER_DY));
        }
        cases.add(forward(a, "far from zero", 9, 192, 1000));
        cases.add(backward(a, "far from zero", 9, 192, 1000, WriteMode.OVERWRITE, Output.NONE));
        cases.add(backward(a, "ADD", 9, 192, 0, WriteMode.ADD, Output.NONE));
        cases.add(backward(a, "y apart from dy", 9, 192, 0, WriteMode.OVERWRITE, Output.APART));
        cases.add(forwardOfConstantRows(a));
        return cases;
    }

    private static double[] shifted(OperationBench bench, int count, double offset) {
        double[] x = bench.random("x", count);
        Arrays.setAll(x, i -> (float) (offset + x[i]));
        return x;
    }

    private static ContractCase forward(DType a, String variant, int m, int c, double offset) {
        return new ContractCase("layerNorm", OperandTypes.of(a, "y"), variant, bench ->
            forward(a, bench, shifted(bench, m * c, offset), m, c));
    }

    private static ContractCase forwardOfConstantRows(DType a) {
        return new ContractCase("layerNorm", OperandTypes.of(a, "y"), "of rows without variance", bench -> {
            double[] x = new double[4 * 50];
            Arrays.setAll(x, i -> new double[] {0, 1, -3.5, 1e-4f}[i / 50]);
            forward(a, bench, x, 4, 50);
        });
    }

    private static void forward(DType a, OperationBench bench, double[] values, int m, int c) {
        GuardedTensor x = bench.input("x", values, 1, m, c);
        GuardedTensor gamma = bench.input("gamma", c);
        GuardedTensor beta = bench.input("beta", c);
        GuardedTensor y = bench.output("y", 1, m, c);
        GuardedTensor mean = bench.output("mean", m);
        GuardedTensor invStd = bench.output("invStd", m);
        bench.ops().norms()
            .layerNorm(y.tensor(), mean.tensor(), invStd.tensor(), x.tensor(), gamma.tensor(), beta.tensor(),
            EPSILON);
        ReferenceLayerNorm reference = new ReferenceLayerNorm(values, c, EPSILON);
        bench.expect(mean, reference.means());
        bench.expect(invStd, reference.invStds());
        bench.expect(y, reference.forward(gamma.values(), beta.values()));
    }

    private static ContractCase recompute(DType a, String variant, int m, int c) {
        return new ContractCase("layerNormRecompute", OperandTypes.of(a, "y"), variant, bench -> {
            GuardedTensor x = bench.input("x", m, c);
            GuardedTensor mean = bench.input("mean", m);
            double[] deviations = bench.random("invStd", m);
            Arrays.setAll(deviations, r -> (float) Math.abs(deviations[r]));
            GuardedTensor invStd = bench.input("invStd", deviations, m);
            GuardedTensor gamma = bench.input("gamma", c);
            GuardedTensor beta = bench.input("beta", c);
            GuardedTensor y = bench.output("y", m, c);
            bench.ops().norms()
                .layerNormRecompute(y.tensor(), x.tensor(), mean.tensor(), invStd.tensor(), gamma.tensor(),
                beta.tensor());
            bench.expect(y, new ReferenceLayerNorm(x.values(), c, mean.values(), invStd.values())
                .forward(gamma.values(), beta.values()));
        });
    }

    private static ContractCase backward(DType a, String variant, int m, int c, double offset, WriteMode write,
        Output output) {
        return new ContractCase("layerNormBackward", OperandTypes.of(a, "dy", "y"), variant, bench -> {
            double[] values = shifted(bench, m * c, offset);
            ReferenceLayerNorm statistics = new ReferenceLayerNorm(values, c, EPSILON);
            GuardedTensor x = bench.input("x", values, m, c);
            GuardedTensor mean = bench.input("mean", statistics.mean(), m);
            GuardedTensor invStd = bench.input("invStd", statistics.invStd(), m);
            GuardedTensor gamma = bench.input("gamma", c);
            GuardedTensor dy = output == Output.OVER_DY ? bench.inOut("dy", m, c) : bench.input("dy", m, c);
            GuardedTensor dGamma = bench.inOut("dGamma", c);
            GuardedTensor dBeta = bench.inOut("dBeta", c);
            GuardedTensor dx = write == WriteMode.ADD ? bench.inOut("dx", m, c) : bench.output("dx", m, c);
            GuardedTensor beta = bench.input("beta", c);
            GuardedTensor y = output == Output.APART ? bench.output("y", m, c) : dy;
            bench.ops().norms().layerNormBackward(dx.tensor(), dGamma.tensor(), dBeta.tensor(), dy.tensor(), x.tensor(),
                mean.tensor(), invStd.tensor(), gamma.tensor(), write, output == Output.NONE ? Optional.empty()
                : Optional.of(new RecomputedNorm(y.tensor(), beta.tensor())));
            ReferenceLayerNorm reference = new ReferenceLayerNorm(values, c, mean.values(), invStd.values());
            if (output != Output.NONE) {
                bench.expect(y, reference.forward(gamma.values(), beta.values()));
            }
            double[] before = write == WriteMode.ADD ? dx.values() : new double[m * c];
            bench.expect(dx, reference.input(before, dy.values(), gamma.values()));
            bench.expect(dGamma, reference.gamma(dGamma.values(), dy.values()));
            bench.expect(dBeta, reference.beta(dBeta.values(), dy.values()));
        });
    }
}
