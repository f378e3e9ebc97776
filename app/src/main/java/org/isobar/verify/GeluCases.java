package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

import org.isobar.tensor.DType;

/** The activation and its derivative. */
final class GeluCases {
    private static final double[] EXTREMES = {0, -0.0, 1e-38, -1e-38, 1e-7, -1e-7, 0.3, -0.3, 1, -1, 3, -3, 5.5, -5.5,
        9, -9, 13.1, -13.1, 14, -14, 100, -100, 1e10, -1e10, 1e30, -1e30};

    private GeluCases() { }

    static List<Case> cases(DType a) {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            cases.add(gelu(a, "of " + n, bench -> arguments(bench, n)));
            cases.add(geluBackward(a, "of " + n, bench -> arguments(bench, n)));
        }
        cases.add(gelu(a, "of extremes", bench -> extremes(a)));
        cases.add(geluBackward(a, "of extremes", bench -> extremes(a)));
        cases.add(geluInPlace(a));
        cases.add(geluBackwardInPlace(a));
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

    private static Case geluBackward(DType a, String variant, Function<Bench, double[]> arguments) {
        return new Case(a, "geluBackward", variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            Probe x = bench.input(a, "x", values, n);
            Probe dy = bench.input(a, "dy", n);
            Probe dx = bench.output(a, "dx", n);
            Probe y = bench.output(a, "y", n);
            bench.ops().geluBackward(dx.tensor(), y.tensor(), dy.tensor(), x.tensor());
            bench.expect(dx, ReferenceOps.geluBackward(dy.values(), x.values()));
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case geluBackwardInPlace(DType a) {
        return new Case(a, "geluBackward", "in place", bench -> {
            Probe x = bench.input(a, "x", arguments(bench, 1003), 17, 59);
            Probe dy = bench.inOut(a, "dy", 17, 59);
            Probe y = bench.output(a, "y", 17, 59);
            bench.ops().geluBackward(dy.tensor(), y.tensor(), dy.tensor(), x.tensor());
            bench.expect(dy, ReferenceOps.geluBackward(dy.values(), x.values()));
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }
}
