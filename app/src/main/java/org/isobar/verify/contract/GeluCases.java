package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

import org.isobar.tensor.DType;
import org.isobar.verify.reference.NumberFormats;
import org.isobar.verify.reference.ReferenceOps;
import org.isobar.verify.reference.ReferenceProducts;

/** The activation, and its gradient with that of the bias before it. */
final class GeluCases {
    private static final double[] EXTREMES = {0, -0.0, 1e-38, -1e-38, 1e-7, -1e-7, 0.3, -0.3, 1, -1, 3, -3, 5.5, -5.5,
        9, -9, 13.1, -13.1, 14, -14, 100, -100, 1e10, -1e10, 1e30, -1e30};

    private GeluCases() { }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int n : EdgeSizes.elements()) {
            cases.add(gelu(a, "of " + n, bench -> arguments(bench, n)));
        }
        for (int[] size : EdgeSizes.matrices()) {
            cases.add(backward(a, "of " + size[0] + " x " + size[1], size[0], size[1],
                bench -> arguments(bench, size[0] * size[1])));
        }
        cases.add(gelu(a, "of extremes", bench -> extremes(a)));
        cases.add(backward(a, "of extremes", 1, extremes(a).length, bench -> extremes(a)));
        cases.add(geluInPlace(a));
        cases.add(backwardInPlace(a));
        return cases;
    }

    /** Wide enough for both tails. */
    private static double[] arguments(OperationBench bench, int n) {
        double[] x = bench.random("x", n);
        Arrays.setAll(x, i -> (float) (3 * x[i]));
        return x;
    }

    private static double[] extremes(DType a) {
        return Arrays.stream(EXTREMES).filter(x -> Math.abs(x) <= NumberFormats.largest(a)).toArray();
    }

    private static ContractCase gelu(DType a, String variant, Function<OperationBench, double[]> arguments) {
        return new ContractCase(a, "gelu", variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            GuardedTensor x = bench.input(a, "x", values, n);
            GuardedTensor y = bench.output(a, "y", n);
            bench.ops().gelu(y.tensor(), x.tensor());
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }

    private static ContractCase geluInPlace(DType a) {
        return new ContractCase(a, "gelu", "in place", bench -> {
            GuardedTensor x = bench.inOut(a, "x", arguments(bench, 1003), 17, 59);
            bench.ops().gelu(x.tensor(), x.tensor());
            bench.expect(x, ReferenceOps.gelu(x.values()));
        });
    }

    private static ContractCase backward(DType a, String variant, int rows, int columns,
        Function<OperationBench, double[]> arguments) {
        return new ContractCase(a, "biasGeluBackward", variant, bench -> {
            GuardedTensor dy = bench.input(a, "dy", rows, columns);
            backward(a, bench, bench.output(a, "dx", rows, columns), dy, arguments.apply(bench));
        });
    }

    private static ContractCase backwardInPlace(DType a) {
        return new ContractCase(a, "biasGeluBackward", "in place", bench -> {
            GuardedTensor dy = bench.inOut(a, "dy", 3, 17, 59);
            backward(a, bench, dy, dy, arguments(bench, 3 * 17 * 59));
        });
    }

    /** The terms of the bias's gradient are what has become of dx: there is no doubt about them. */
    private static void backward(DType a, OperationBench bench, GuardedTensor dx, GuardedTensor dy, double[] values) {
        long[] extents = dy.tensor().shape().extents();
        GuardedTensor x = bench.input(a, "x", values, extents);
        GuardedTensor y = bench.output(a, "y", extents);
        GuardedTensor dBias = bench.inOut("dBias", extents[extents.length - 1]);
        bench.ops().biasGeluBackward(dx.tensor(), y.tensor(), dBias.tensor(), dy.tensor(), x.tensor());
        bench.expect(dx, ReferenceOps.geluBackward(dy.values(), x.values()));
        bench.expect(y, ReferenceOps.gelu(x.values()));
        bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), bench.found(dx)));
    }
}
