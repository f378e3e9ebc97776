package org.isobar.verify;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Epilogue;
import org.isobar.device.Write;

/** Matrix products in all their forms, and the bias gradient. */
final class ProductCases {
    /** M, N, K. */
    private static final int[][] SIZES = {{1, 1, 1}, {1, 17, 5}, {5, 1, 64}, {16, 16, 16}, {33, 67, 31}, {130, 48, 192},
        {257, 96, 40}};

    private ProductCases() { }

    static List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int[] size : SIZES) {
            int m = size[0];
            int n = size[1];
            int k = size[2];
            cases.add(linear(m, n, k));
            cases.add(linearBias(m, n, k));
            cases.add(linearBiasGelu(m, n, k));
            cases.add(backwardInput(m, n, k, Write.OVERWRITE));
            cases.add(backwardInput(m, n, k, Write.ADD));
            cases.add(backwardWeight(m, n, k));
        }
        cases.add(linearInThreeDimensions());
        for (int[] size : Sizes.matrices()) {
            cases.add(biasBackward(size[0], size[1]));
        }
        return cases;
    }

    private static String variant(int m, int n, int k) {
        return "M=" + m + " N=" + n + " K=" + k;
    }

    private static Case linear(int m, int n, int k) {
        return new Case("linear", variant(m, n, k), bench -> {
            Probe x = bench.input("x", m, k);
            Probe weight = bench.input("weight", n, k);
            Probe y = bench.output("y", m, n);
            bench.ops().linear(y.tensor(), x.tensor(), weight.tensor(), Epilogue.NONE);
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), k));
        });
    }

    private static Case linearInThreeDimensions() {
        return new Case("linear", "of (B, T, K)", bench -> {
            Probe x = bench.input("x", 3, 11, 24);
            Probe weight = bench.input("weight", 40, 24);
            Probe bias = bench.input("bias", 40);
            Probe y = bench.output("y", 3, 11, 40);
            bench.ops().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), bias.values(), 24));
        });
    }

    private static Case linearBias(int m, int n, int k) {
        return new Case("linear", variant(m, n, k) + " and bias", bench -> {
            Probe x = bench.input("x", m, k);
            Probe weight = bench.input("weight", n, k);
            Probe bias = bench.input("bias", n);
            Probe y = bench.output("y", m, n);
            bench.ops().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), bias.values(), k));
        });
    }

    private static Case linearBiasGelu(int m, int n, int k) {
        return new Case("linear", variant(m, n, k) + ", bias and GELU", bench -> {
            Probe x = bench.input("x", m, k);
            Probe weight = bench.input("weight", n, k);
            Probe bias = bench.input("bias", n);
            Probe u = bench.output("preActivation", m, n);
            Probe y = bench.output("y", m, n);
            bench.ops().linear(y.tensor(), x.tensor(), weight.tensor(),
                new Epilogue.BiasGelu(bias.tensor(), u.tensor()));
            Expected expected = ReferenceProducts.linear(x.values(), weight.values(), bias.values(), k);
            bench.expect(u, expected);
            bench.expect(y, ReferenceProducts.gelu(expected, k));
        });
    }

    private static Case backwardInput(int m, int n, int k, Write write) {
        return new Case("linearBackwardInput", variant(m, n, k) + ", " + write, bench -> {
            Probe dy = bench.input("dy", m, n);
            Probe weight = bench.input("weight", n, k);
            Probe dx = write == Write.ADD ? bench.inOut("dx", m, k) : bench.output("dx", m, k);
            bench.ops().linearBackwardInput(dx.tensor(), dy.tensor(), weight.tensor(), write);
            double[] before = write == Write.ADD ? dx.values() : new double[m * k];
            bench.expect(dx, ReferenceProducts.backwardInput(before, dy.values(), weight.values(), k));
        });
    }

    private static Case backwardWeight(int m, int n, int k) {
        return new Case("linearBackwardWeight", variant(m, n, k), bench -> {
            Probe dy = bench.input("dy", m, n);
            Probe x = bench.input("x", m, k);
            Probe dWeight = bench.inOut("dWeight", n, k);
            bench.ops().linearBackwardWeight(dWeight.tensor(), dy.tensor(), x.tensor());
            bench.expect(dWeight, ReferenceProducts.backwardWeight(dWeight.values(), dy.values(), x.values(), k));
        });
    }

    private static Case biasBackward(int m, int n) {
        return new Case("biasBackward", "of " + m + " x " + n, bench -> {
            Probe dy = bench.input("dy", 1, m, n);
            Probe dBias = bench.inOut("dBias", n);
            bench.ops().biasBackward(dBias.tensor(), dy.tensor());
            bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), dy.values()));
        });
    }
}
