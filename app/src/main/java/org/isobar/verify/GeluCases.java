package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** The activation and its derivative. */
final class GeluCases {
    private static final double[] EXTREMES = {0, -0.0, 1e-38, -1e-38, 1e-7, -1e-7, 0.3, -0.3, 1, -1, 3, -3, 5.5, -5.5,
        9, -9, 13.1, -13.1, 14, -14, 100, -100, 1e10, -1e10, 1e30, -1e30};

    private GeluCases() { }

    static List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            cases.add(gelu("of " + n, bench -> arguments(bench, n)));
            cases.add(geluBackward("of " + n, bench -> arguments(bench, n)));
        }
        cases.add(gelu("of extremes", bench -> EXTREMES));
        cases.add(geluBackward("of extremes", bench -> EXTREMES));
        cases.add(geluInPlace());
        cases.add(geluBackwardInPlace());
        return cases;
    }

    /** Wide enough for both tails. */
    private static double[] arguments(Bench bench, int n) {
        double[] x = bench.random("x", n);
        Arrays.setAll(x, i -> (float) (3 * x[i]));
        return x;
    }

    private static Case gelu(String variant, Function<Bench, double[]> arguments) {
        return new Case("gelu", variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            Probe x = bench.input("x", values, n);
            Probe y = bench.output("y", n);
            bench.ops().gelu(y.tensor(), x.tensor());
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case geluInPlace() {
        return new Case("gelu", "in place", bench -> {
            Probe x = bench.inOut("x", arguments(bench, 1003), 17, 59);
            bench.ops().gelu(x.tensor(), x.tensor());
            bench.expect(x, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case geluBackward(String variant, Function<Bench, double[]> arguments) {
        return new Case("geluBackward", variant, bench -> {
            double[] values = arguments.apply(bench);
            int n = values.length;
            Probe x = bench.input("x", values, n);
            Probe dy = bench.input("dy", n);
            Probe dx = bench.output("dx", n);
            Probe y = bench.output("y", n);
            bench.ops().geluBackward(dx.tensor(), y.tensor(), dy.tensor(), x.tensor());
            bench.expect(dx, ReferenceOps.geluBackward(dy.values(), x.values()));
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }

    private static Case geluBackwardInPlace() {
        return new Case("geluBackward", "in place", bench -> {
            Probe x = bench.input("x", arguments(bench, 1003), 17, 59);
            Probe dy = bench.inOut("dy", 17, 59);
            Probe y = bench.output("y", 17, 59);
            bench.ops().geluBackward(dy.tensor(), y.tensor(), dy.tensor(), x.tensor());
            bench.expect(dy, ReferenceOps.geluBackward(dy.values(), x.values()));
            bench.expect(y, ReferenceOps.gelu(x.values()));
        });
    }
}
