package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.Write;
import org.isobar.tensor.DType;

/** Layer normalization, forward, recomputed and backward. */
final class LayerNormCases {
    private static final double EPSILON = 1e-6;

    private LayerNormCases() { }

    static List<Case> cases(DType a) {
        List<Case> cases = new ArrayList<>();
        for (int[] size : Sizes.matrices()) {
            String variant = "of " + size[0] + " x " + size[1];
            cases.add(forward(a, variant, size[0], size[1], 0));
            cases.add(recompute(a, variant, size[0], size[1]));
            for (Write write : Write.values()) {
                cases.add(backward(a, variant + ", " + write, size[0], size[1], 0, write));
            }
        }
        cases.add(forward(a, "far from zero", 9, 192, 1000));
        cases.add(backward(a, "far from zero", 9, 192, 1000, Write.OVERWRITE));
        cases.add(forwardOfConstantRows(a));
        return cases;
    }

    private static double[] shifted(Bench bench, int count, double offset) {
        double[] x = bench.random("x", count);
        Arrays.setAll(x, i -> (float) (offset + x[i]));
        return x;
    }

    private static Case forward(DType a, String variant, int m, int c, double offset) {
        return new Case(a, "layerNorm", variant, bench -> forward(a, bench, shifted(bench, m * c, offset), m, c));
    }

    private static Case forwardOfConstantRows(DType a) {
        return new Case(a, "layerNorm", "of rows without variance", bench -> {
            double[] x = new double[4 * 50];
            Arrays.setAll(x, i -> new double[] {0, 1, -3.5, 1e-4f}[i / 50]);
            forward(a, bench, x, 4, 50);
        });
    }

    private static void forward(DType a, Bench bench, double[] values, int m, int c) {
        Probe x = bench.input("x", values, 1, m, c);
        Probe gamma = bench.input("gamma", c);
        Probe beta = bench.input("beta", c);
        Probe y = bench.output(a, "y", 1, m, c);
        Probe mean = bench.output("mean", m);
        Probe invStd = bench.output("invStd", m);
        bench.ops().layerNorm(y.tensor(), mean.tensor(), invStd.tensor(), x.tensor(), gamma.tensor(), beta.tensor(),
            EPSILON);
        ReferenceLayerNorm reference = new ReferenceLayerNorm(values, c, EPSILON);
        bench.expect(mean, reference.means());
        bench.expect(invStd, reference.invStds());
        bench.expect(y, reference.forward(gamma.values(), beta.values()));
    }

    private static Case recompute(DType a, String variant, int m, int c) {
        return new Case(a, "layerNormRecompute", variant, bench -> {
            Probe x = bench.input("x", m, c);
            Probe mean = bench.input("mean", m);
            double[] deviations = bench.random("invStd", m);
            Arrays.setAll(deviations, r -> (float) Math.abs(deviations[r]));
            Probe invStd = bench.input("invStd", deviations, m);
            Probe gamma = bench.input("gamma", c);
            Probe beta = bench.input("beta", c);
            Probe y = bench.output(a, "y", m, c);
            bench.ops().layerNormRecompute(y.tensor(), x.tensor(), mean.tensor(), invStd.tensor(), gamma.tensor(),
                beta.tensor());
            bench.expect(y, new ReferenceLayerNorm(x.values(), c, mean.values(), invStd.values())
                .forward(gamma.values(), beta.values()));
        });
    }

    private static Case backward(DType a, String variant, int m, int c, double offset, Write write) {
        return new Case(a, "layerNormBackward", variant, bench -> {
            double[] values = shifted(bench, m * c, offset);
            ReferenceLayerNorm statistics = new ReferenceLayerNorm(values, c, EPSILON);
            Probe x = bench.input("x", values, m, c);
            Probe mean = bench.input("mean", statistics.mean(), m);
            Probe invStd = bench.input("invStd", statistics.invStd(), m);
            Probe gamma = bench.input("gamma", c);
            Probe dy = bench.input(a, "dy", m, c);
            Probe dGamma = bench.inOut("dGamma", c);
            Probe dBeta = bench.inOut("dBeta", c);
            Probe dx = write == Write.ADD ? bench.inOut("dx", m, c) : bench.output("dx", m, c);
            bench.ops().layerNormBackward(dx.tensor(), dGamma.tensor(), dBeta.tensor(), dy.tensor(), x.tensor(),
                mean.tensor(), invStd.tensor(), gamma.tensor(), write);
            ReferenceLayerNorm reference = new ReferenceLayerNorm(values, c, mean.values(), invStd.values());
            double[] before = write == Write.ADD ? dx.values() : new double[m * c];
            bench.expect(dx, reference.input(before, dy.values(), gamma.values()));
            bench.expect(dGamma, reference.gamma(dGamma.values(), dy.values()));
            bench.expect(dBeta, reference.beta(dBeta.values(), dy.values()));
        });
    }
}
