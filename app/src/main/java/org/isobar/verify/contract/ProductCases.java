package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceProducts;

/** Matrix products in all their forms, and the bias gradient. */
final class ProductCases {
    /** M, N, K. */
    private static final int[][] SIZES = {{1, 1, 1}, {1, 17, 5}, {5, 1, 64}, {16, 16, 16}, {33, 67, 31}, {130, 48, 192},
        {257, 96, 40}};

    private ProductCases() { }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] size : SIZES) {
            int m = size[0];
            int n = size[1];
            int k = size[2];
            cases.add(linear(a, a, m, n, k));
            cases.add(linearBias(a, a, m, n, k));
            if (a != DType.F32) {
                cases.add(linear(a, DType.F32, m, n, k));
                cases.add(linearBias(a, DType.F32, m, n, k));
            }
            cases.add(linearBiasGelu(a, m, n, k));
            cases.add(backwardInput(a, m, n, k, WriteMode.OVERWRITE));
            cases.add(backwardInput(a, m, n, k, WriteMode.ADD));
            cases.add(backwardWeight(a, m, n, k));
        }
        cases.add(linearInThreeDimensions(a));
        for (int[] size : EdgeSizes.matrices()) {
            cases.add(biasBackward(a, size[0], size[1]));
        }
        return cases;
    }

    private static String variant(int m, int n, int k) {
        return "M=" + m + " N=" + n + " K=" + k;
    }

    private static ContractCase linear(DType a, DType result, int m, int n, int k) {
        return new ContractCase(a, "linear", variant(m, n, k) + " to " + result, bench -> {
            GuardedTensor x = bench.input(a, "x", m, k);
            GuardedTensor weight = bench.input(a, "weight", n, k);
            GuardedTensor y = bench.output(result, "y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), Epilogue.NONE);
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), k, bench.operandRoundoff(a)));
        });
    }

    private static ContractCase linearInThreeDimensions(DType a) {
        return new ContractCase(a, "linear", "of (B, T, K)", bench -> {
            GuardedTensor x = bench.input(a, "x", 3, 11, 24);
            GuardedTensor weight = bench.input(a, "weight", 40, 24);
            GuardedTensor bias = bench.input(a, "bias", 40);
            GuardedTensor y = bench.output(a, "y", 3, 11, 40);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), bias.values(), 24,
                bench.operandRoundoff(a)));
        });
    }

    private static ContractCase linearBias(DType a, DType result, int m, int n, int k) {
        return new ContractCase(a, "linear", variant(m, n, k) + " and bias to " + result, bench -> {
            GuardedTensor x = bench.input(a, "x", m, k);
            GuardedTensor weight = bench.input(a, "weight", n, k);
            GuardedTensor bias = bench.input(result, "bias", n);
            GuardedTensor y = bench.output(result, "y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), bias.values(), k,
                bench.operandRoundoff(a)));
        });
    }

    private static ContractCase linearBiasGelu(DType a, int m, int n, int k) {
        return new ContractCase(a, "linear", variant(m, n, k) + ", bias and GELU", bench -> {
            GuardedTensor x = bench.input(a, "x", m, k);
            GuardedTensor weight = bench.input(a, "weight", n, k);
            GuardedTensor bias = bench.input(a, "bias", n);
            GuardedTensor u = bench.output(a, "preActivation", m, n);
            GuardedTensor y = bench.output(a, "y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(),
                new Epilogue.BiasGelu(bias.tensor(), u.tensor()));
            ExpectedTensor expected = ReferenceProducts.linear(x.values(), weight.values(), bias.values(), k,
                bench.operandRoundoff(a));
            bench.expect(u, expected);
            bench.expect(y, ReferenceProducts.gelu(expected, k, a));
        });
    }

    private static ContractCase backwardInput(DType a, int m, int n, int k, WriteMode write) {
        return new ContractCase(a, "linearBackwardInput", variant(m, n, k) + ", " + write, bench -> {
            GuardedTensor dy = bench.input(a, "dy", m, n);
            GuardedTensor weight = bench.input(a, "weight", n, k);
            GuardedTensor dx = write == WriteMode.ADD ? bench.inOut(a, "dx", m, k) : bench.output(a, "dx", m, k);
            bench.ops().products().linearBackwardInput(dx.tensor(), dy.tensor(), weight.tensor(), write);
            double[] before = write == WriteMode.ADD ? dx.values() : new double[m * k];
            bench.expect(dx, ReferenceProducts.backwardInput(before, dy.values(), weight.values(), k,
                bench.operandRoundoff(a)));
        });
    }

    private static ContractCase backwardWeight(DType a, int m, int n, int k) {
        return new ContractCase(a, "linearBackwardWeight", variant(m, n, k), bench -> {
            GuardedTensor dy = bench.input(a, "dy", m, n);
            GuardedTensor x = bench.input(a, "x", m, k);
            GuardedTensor dWeight = bench.inOut("dWeight", n, k);
            bench.ops().products().linearBackwardWeight(dWeight.tensor(), dy.tensor(), x.tensor());
            bench.expect(dWeight, ReferenceProducts.backwardWeight(dWeight.values(), dy.values(), x.values(), k,
                bench.operandRoundoff(a)));
        });
    }

    private static ContractCase biasBackward(DType a, int m, int n) {
        return new ContractCase(a, "biasBackward", "of " + m + " x " + n, bench -> {
            GuardedTensor dy = bench.input(a, "dy", 1, m, n);
            GuardedTensor dBias = bench.inOut("dBias", n);
            bench.ops().products().biasBackward(dBias.tensor(), dy.tensor());
            bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), dy.values()));
        });
    }
}
