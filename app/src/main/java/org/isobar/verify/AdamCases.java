package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.AdamConstants;

/** Updates at the first step, later, and where gradient and moments are zero. */
final class AdamCases {
    private static final AdamConstants CONSTANTS = new AdamConstants(0.9, 0.95, 1e-8);

    private AdamCases() { }

    static List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            cases.add(adam("of " + n, n, 1e-3, 17, CONSTANTS));
        }
        cases.add(adam("at the first step", 100, 1e-3, 1, CONSTANTS));
        cases.add(adam("after 100,000 steps", 100, 5e-4, 100_000, CONSTANTS));
        cases.add(adam("with learning rate 0", 100, 0, 20, CONSTANTS));
        cases.add(adam("with an epsilon that counts", 100, 1e-3, 2, new AdamConstants(0.8, 0.999, 0.5)));
        return cases;
    }

    private static Case adam(String variant, int n, double learningRate, double t,
        AdamConstants constants) {
        return new Case("adam", variant, bench -> {
            double[] m = bench.random("moment1", n);
            double[] v = bench.random("moment2", n);
            double[] g = bench.random("gradient", n);
            for (int i = 0; i < n; i++) {
                v[i] = Math.abs(v[i]);
            }
            if (t == 1) {
                Arrays.fill(m, 0);
                Arrays.fill(v, 0);
                Arrays.fill(g, 0, n / 2, 0);
            }
            Probe parameter = bench.inOut("parameter", n);
            Probe gradient = bench.input("gradient", g, n);
            Probe moment1 = bench.inOut("moment1", m, n);
            Probe moment2 = bench.inOut("moment2", v, n);
            Probe control = bench.inputF64("control", new double[] {learningRate, t, 0, 1, 0, 0}, 6);
            bench.ops().adam(parameter.tensor(), parameter.tensor(), gradient.tensor(), moment1.tensor(),
                moment2.tensor(), control.tensor(), constants);
            ReferenceOps.AdamState expected = ReferenceOps.adam(parameter.values(), g, m, v, learningRate, t,
                constants);
            bench.expect(moment1, expected.moment1());
            bench.expect(moment2, expected.moment2());
            bench.expect(parameter, expected.parameter());
        });
    }
}
