package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

import org.isobar.tensor.DType;

/** The activation, and its gradient with that of the bias before it. */
final class GeluCases {
    private static final double[] EXTREMES = {0, -0.0, 1e-38, -1e-38, 1e-7, -1e-7, 0.3, -0.3, 1, -1, 3, -3, 5.5, -5.5,
        9, -9, 13.1, -13.1, 14, -14, 100, -100, 1e10, -1e10, 1e30, -1e30};

    private GeluCases() { }

    static List<Case> cases(DType a) {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            cases.add(gelu(a, "of " + n, bench -> arguments(bench, n)));
        }
        for (int[] size : Sizes.matrices()) {
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
    private static double[] arguments(Bench bench, int n) {
        double[] x = bench.random("x", n);
        Arrays.setAll(x, i -> (float) (3 * x[i]));
        return x;
    }

    private static double[] extremes(DType a) {
        return Arrays.stream(EXTREMES).filter(x -> Math.abs(x) <= Numbers.largest(a)).toArray();
    }

    private static Case gelu(DType a, String variant, Function<Bench, double[]> arguments) {
        return new Case(a, "gelu", variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            Probe x = bench.input(a, "x", values, n);
            Probe y = bench.output(a, "y", n);
            bench.ops().gelu(y.tensor(), x.tensor());
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case geluInPlace(DType a) {
        return new Case(a, "gelu", "in place", bench -> {
            Probe x = bench.inOut(a, "x", arguments(bench, 1003), 17, 59);
            bench.ops().gelu(x.tensor(), x.tensor());
            bench.expect(x, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case backward(DType a, String variant, int rows, int columns, Function<Bench, double[]> arguments) {
        return new Case(a, "biasGeluBackward", variant, bench -> {
            Probe dy = bench.input(a, "dy", rows, columns);
            backward(a, bench, bench.output(a, "dx", rows, columns), dy, arguments.apply(bench));
        });
    }

    private static Case backwardInPlace(DType a) {
        return new Case(a, "biasGeluBackward", "in place", bench -> {
            Probe dy = bench.inOut(a, "dy", 3, 17, 59);
            backward(a, bench, dy, dy, arguments(bench, 3 * 17 * 59));
        });
    }

    /** The terms of the bias's gradient are what has become of dx: there is no doubt about them. */
    private static void backward(DType a, Bench bench, Probe dx, Probe dy, double[] values) {
        long[] extents = dy.tensor().shape().extents();
        Probe x = bench.input(a, "x", values, extents);
        Probe y = bench.output(a, "y", extents);
        Probe dBias = bench.inOut("dBias", extents[extents.length - 1]);
        bench.ops().biasGeluBackward(dx.tensor(), y.tensor(), dBias.tensor(), dy.tensor(), x.tensor());
        bench.expect(dx, ReferenceOps.geluBackward(dy.values(), x.values()));
        bench.expect(y, ReferenceOps.gelu(x.values()));
        bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), bench.found(dx)));
    }
}
