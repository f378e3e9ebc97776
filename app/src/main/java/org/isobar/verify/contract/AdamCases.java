package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.StepControl;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceOps;

/**
 * Cases of Adam: the first step, a later step, zero gradient and moments, and a step that overflowed; with a copy of
 * the parameters in the compute type.
 */
final class AdamCases {
    private static final AdamConstants CONSTANTS = new AdamConstants(0.9, 0.95, 1e-8);

    private AdamCases() { }

    /** Cases with a copy of type {@code a}; there is no copy for F32. */
    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int n : EdgeSizes.elements()) {
            cases.add(adam(a, "of " + n, n, control(1e-3, 17), CONSTANTS));
        }
        cases.add(adam(a, "at the first step", 100, control(1e-3, 1), CONSTANTS));
        cases.add(adam(a, "after 100,000 steps", 100, control(5e-4, 100_000), CONSTANTS));
        cases.add(adam(a, "with learning rate 0", 100, control(0, 20), CONSTANTS));
        cases.add(adam(a, "with an epsilon that counts", 100, control(1e-3, 2), new AdamConstants(0.8, 0.999, 0.5)));
        cases.add(adam(a, "of gradients of three replicas", 1000, control(1e-3, 17), CONSTANTS.dividing(3)));
        double[] overflowed = control(1e-3, 17);
        overflowed[StepControl.OVERFLOW] = 1;
        cases.add(adam(a, "of a step that overflowed", 1000, overflowed, CONSTANTS));
        return cases;
    }

    private static double[] control(double learningRate, double t) {
        double[] control = new double[StepControl.SIZE];
        control[StepControl.LEARNING_RATE] = learningRate;
        control[StepControl.COUNT] = t;
        control[StepControl.SCALE] = 1024; // the gradient is unscaled by now
        return control;
    }

    private static ContractCase adam(DType a, String variant, int n, double[] control, AdamConstants constants) {
        return new ContractCase("adam", OperandTypes.of(a, "copy").with(DType.F64, "control"), variant, bench -> {
            double[] m = bench.random("moment1", n);
            double[] v = bench.random("moment2", n);
            double[] g = bench.random("gradient", n);
            Arrays.setAll(v, i -> Math.abs(v[i]));
            if (control[StepControl.COUNT] == 1) {
                Arrays.fill(m, 0);
                Arrays.fill(v, 0);
                Arrays.fill(g, 0, n / 2, 0);
            }
            if (control[StepControl.OVERFLOW] != 0) {
                g[n / 3] = Double.NEGATIVE_INFINITY;
                g[n / 2] = Double.NaN;
            }
            GuardedTensor parameter = bench.inOut("parameter", n);
            GuardedTensor copy = a == DType.F32 ? parameter : bench.inOut("copy", parameter.values(), n);
            GuardedTensor gradient = bench.input("gradient", g, n);
            GuardedTensor moment1 = bench.inOut("moment1", m, n);
            GuardedTensor moment2 = bench.inOut("moment2", v, n);
            GuardedTensor steering = bench.input("control", control, StepControl.SIZE);
            bench.ops().updates().adam(parameter.tensor(), copy.tensor(), gradient.tensor(), moment1.tensor(),
                moment2.tensor(), steering.tensor(), constants);
            ReferenceOps.AdamState expected = ReferenceOps.adam(parameter.values(), g, m, v, control, constants);
            bench.expect(moment1, expected.moment1());
            bench.expect(moment2, expected.moment2());
            bench.expect(parameter, expected.parameter());
            bench.expect(copy, ExpectedTensor.exactly(bench.found(parameter)));
        });
    }
}
