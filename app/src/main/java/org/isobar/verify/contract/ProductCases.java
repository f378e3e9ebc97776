package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceProducts;

/** Cases of matrix products, forward and backward, and of the bias gradient. */
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
            cases.add(backwardParameters(a, m, n, k));
        }
        cases.add(backwardParameters(a, 1001, 33, 24));
        cases.add(linearInThreeDimensions(a));
        for (int[] size : EdgeSizes.matrices()) {
            cases.add(biasBackward(a, size[0], size[1]));
        }
        return cases;
    }

    private static OperandTypes linearTypes(DType a, DType result) {
        return OperandTypes.of(a, "x", "weight").with(result, "y", "bias", "preActivation");
    }

    private static String variant(int m, int n, int k) {
        return "M=" + m + " N=" + n + " K=" + k;
    }

    private static ContractCase linear(DType a, DType result, int m, int n, int k) {
        return new ContractCase("linear", linearTypes(a, result), variant(m, n, k) + " to " + result, bench -> {
            GuardedTensor x = bench.input("x", m, k);
            GuardedTensor weight = bench.input("weight", n, k);
            GuardedTensor y = bench.output("y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), Epilogue.NONE);
            bench.expect(y, ReferenceProducts.linear(x.values(), weight.values(), k, bench.operandRoundoff("x")));
        });
    }

    private static ContractCase linearInThreeDimensions(DType a) {
        return new ContractCase("linear", linearTypes(a, a), "of (B, T, K)", bench -> {
            GuardedTensor x = bench.input("x", 3, 11, 24);
            GuardedTensor weight = bench.input("weight", 40, 24);
            GuardedTensor bias = bench.input("bias", 40);
            GuardedTensor y = bench.output("y", 3, 11, 40);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, biased(bench, x, weight, bias, y));
        });
    }

    private static ContractCase linearBias(DType a, DType result, int m, int n, int k) {
        String variant = variant(m, n, k) + " and bias to " + result;
        return new ContractCase("linear", linearTypes(a, result), variant, bench -> {
            GuardedTensor x = bench.input("x", m, k);
            GuardedTensor weight = bench.input("weight", n, k);
            GuardedTensor bias = bench.input("bias", n);
            GuardedTensor y = bench.output("y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(), new Epilogue.Bias(bias.tensor()));
            bench.expect(y, biased(bench, x, weight, bias, y));
        });
    }

    /** x W^T + b, as it is stored in {@code y}. */
    private static ExpectedTensor biased(OperationBench bench, GuardedTensor x, GuardedTensor weight,
        GuardedTensor bias, GuardedTensor y) {
        int k = Math.toIntExact(weight.tensor().shape().extent(-1));
        ExpectedTensor product = ReferenceProducts.linear(x.values(), weight.values(), k, bench.operandRoundoff("x"));
        return ReferenceProducts.biased(bench.addend(product, y.name()), bias.values());
    }

    private static ContractCase linearBiasGelu(DType a, int m, int n, int k) {
        return new ContractCase("linear", linearTypes(a, a), variant(m, n, k) + ", bias and GELU", bench -> {
            GuardedTensor x = bench.input("x", m, k);
            GuardedTensor weight = bench.input("weight", n, k);
            GuardedTensor bias = bench.input("bias", n);
            GuardedTensor u = bench.output("preActivation", m, n);
            GuardedTensor y = bench.output("y", m, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(),
                new Epilogue.BiasGelu(bias.tensor(), u.tensor()));
            ExpectedTensor expected = biased(bench, x, weight, bias, u);
            bench.expect(u, expected);
            bench.expect(y, ReferenceProducts.gelu(expected, k, a));
        });
    }

    private static ContractCase backwardInput(DType a, int m, int n, int k, WriteMode write) {
        String variant = variant(m, n, k) + ", " + write;
        return new ContractCase("linearBackwardInput", OperandTypes.of(a, "dx", "dy", "weight"), variant, bench -> {
            GuardedTensor dy = bench.input("dy", m, n);
            GuardedTensor weight = bench.input("weight", n, k);
            GuardedTensor dx = write == WriteMode.ADD ? bench.inOut("dx", m, k) : bench.output("dx", m, k);
            bench.ops().products().linearBackwardInput(dx.tensor(), dy.tensor(), weight.tensor(), write);
            ExpectedTensor product = ReferenceProducts.backwardInput(dy.values(), weight.values(), k,
                bench.operandRoundoff("dy"));
            bench.expect(dx, write == WriteMode.ADD ? bench.addend(product, "dx").plus(dx.values()) : product);
        });
    }

    private static ContractCase backwardWeight(DType a, int m, int n, int k) {
        return new ContractCase("linearBackwardWeight", OperandTypes.of(a, "dy", "x"), variant(m, n, k), bench -> {
            GuardedTensor dy = bench.input("dy", m, n);
            GuardedTensor x = bench.input("x", m, k);
            GuardedTensor dWeight = bench.inOut("dWeight", n, k);
            bench.ops().products().linearBackwardWeight(dWeight.tensor(), dy.tensor(), x.tensor());
            bench.expect(dWeight, ReferenceProducts.backwardWeight(dWeight.values(), dy.values(), x.values(), k,
                bench.operandRoundoff("dy")));
        });
    }

    private static ContractCase backwardParameters(DType a, int m, int n, int k) {
        return new ContractCase("linearBackwardParameters", OperandTypes.of(a, "dy", "x"), variant(m, n, k), bench -> {
            GuardedTensor dy = bench.input("dy", m, n);
            GuardedTensor x = bench.input("x", m, k);
            GuardedTensor dWeight = bench.inOut("dWeight", n, k);
            GuardedTensor dBias = bench.inOut("dBias", n);
            bench.ops().products().linearBackwardParameters(dWeight.tensor(), dBias.tensor(), dy.tensor(), x.tensor());
            bench.expect(dWeight, ReferenceProducts.backwardWeight(dWeight.values(), dy.values(), x.values(), k,
                bench.operandRoundoff("dy")));
            bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), dy.values()));
        });
    }

    private static ContractCase biasBackward(DType a, int m, int n) {
        return new ContractCase("biasBackward", OperandTypes.of(a, "dy"), "of " + m + " x " + n, bench -> {
            GuardedTensor dy = bench.input("dy", 1, m, n);
            GuardedTensor dBias = bench.inOut("dBias", n);
            bench.ops().products().biasBackward(dBias.tensor(), dy.tensor());
            bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), dy.values()));
        });
    }
}
