package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.isobar.device.ops.Epilogue;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.NumberFormats;
import org.isobar.verify.reference.ReferenceOps;
import org.isobar.verify.reference.ReferenceProducts;

/** Cases of GELU after a product, and of its gradient together with the bias gradient. */
final class GeluCases {
    private static final double[] EXTREMES = {0, -0.0, 1e-38, -1e-38, 1e-7, -1e-7, 0.3, -0.3, 1, -1, 3, -3, 5.5, -5.5,
        9, -9, 13.1, -13.1, 14, -14, 100, -100, 1e10, -1e10, 1e30, -1e30};

    private GeluCases() { }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int n : EdgeSizes.elements()) {
            cases.add(forward(a, "of " + n, bench -> arguments(bench, n)));
        }
        for (int[] size : EdgeSizes.matrices()) {
            cases.add(backward(a, "of " + size[0] + " x " + size[1], size[0], size[1],
                bench -> arguments(bench, size[0] * size[1])));
        }
        cases.add(forward(a, "of extremes", bench -> // a product may flush subnormal sums to zero
            Arrays.stream(extremes(a)).filter(x -> x == 0 || Math.abs(x) >= Float.MIN_NORMAL).toArray()));
        cases.add(backward(a, "of extremes", 1, extremes(a).length, bench -> extremes(a)));
        cases.add(backwardInPlace(a));
        return cases;
    }

    /** Arguments that cover both tails. */
    private static double[] arguments(OperationBench bench, int n) {
        double[] x = bench.random("x", n);
        Arrays.setAll(x, i -> (float) (3 * x[i]));
        return x;
    }

    private static double[] extremes(DType a) {
        return Arrays.stream(EXTREMES).filter(x -> Math.abs(x) <= NumberFormats.largest(a)).toArray();
    }

    /** The product is zero, so the argument of GELU is exactly the bias. */
    private static ContractCase forward(DType a, String variant, Function<OperationBench, double[]> arguments) {
        return new ContractCase("linear",
            OperandTypes.of(a, "x", "weight", "y", "bias", "preActivation"), "and GELU " + variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            GuardedTensor x = bench.input("x", new double[2], 2, 1);
            GuardedTensor weight = bench.input("weight", new double[n], n, 1);
            GuardedTensor bias = bench.input("bias", values, n);
            GuardedTensor u = bench.output("preActivation", 2, n);
            GuardedTensor y = bench.output("y", 2, n);
            bench.ops().products().linear(y.tensor(), x.tensor(), weight.tensor(),
                new Epilogue.BiasGelu(bias.tensor(), u.tensor()));
            double[] biases = bias.values();
            double[] sums = IntStream.range(0, 2 * n).mapToDouble(i -> 0.0 + biases[i % n]).toArray();
            bench.expect(u, ExpectedTensor.exactly(sums));
            bench.expect(y, ReferenceOps.gelu(sums));
        });
    }

    private static ContractCase backward(DType a, String variant, int rows, int columns,
        Function<OperationBench, double[]> arguments) {
        return new ContractCase("biasGeluBackward", OperandTypes.of(a, "dx", "y", "dy", "x"), variant, bench -> {
            GuardedTensor dy = bench.input("dy", rows, columns);
            GuardedTensor x = bench.input("x", arguments.apply(bench), rows, columns);
            backward(bench, bench.output("dx", rows, columns), bench.output("y", rows, columns), dy, x);
        });
    }

    private static ContractCase backwardInPlace(DType a) {
        return new ContractCase("biasGeluBackward", OperandTypes.of(a, "dx", "y", "dy", "x"), "in place", bench -> {
            GuardedTensor dy = bench.inOut("dy", 3, 17, 59);
            GuardedTensor x = bench.inOut("x", arguments(bench, 3 * 17 * 59), 3, 17, 59);
            backward(bench, dy, x, dy, x);
        });
    }

    /**
     * The expected bias gradient sums dx as the operation stored it, so the rounding of dx does not affect it.
     */
    private static void backward(OperationBench bench, GuardedTensor dx, GuardedTensor y, GuardedTensor dy,
        GuardedTensor x) {
        GuardedTensor dBias = bench.inOut("dBias", dy.tensor().shape().extent(-1));
        bench.ops().products().biasGeluBackward(dx.tensor(), y.tensor(), dBias.tensor(), dy.tensor(), x.tensor());
        bench.expect(dx, ReferenceOps.geluBackward(dy.values(), x.values()));
        bench.expect(y, ReferenceOps.gelu(x.values()));
        bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), bench.found(dx)));
    }
}
