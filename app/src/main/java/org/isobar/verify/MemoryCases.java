package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;

/** Filling and copying. */
final class MemoryCases {
    private MemoryCases() { }

    static List<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            for (DType dtype : DType.values()) {
                cases.add(fill(n, dtype, 0));
                cases.add(fill(n, dtype, -1.25));
                cases.add(copy(n, dtype));
            }
        }
        return cases;
    }

    private static Case fill(int n, DType dtype, double value) {
        return new Case("fill", dtype + " of " + n + " with " + value, bench -> {
            Probe y = bench.output("y", dtype, n);
            bench.ops().fill(y.tensor(), value);
            double[] values = new double[n];
            Arrays.fill(values, value);
            bench.expect(y, Expected.exactly(values));
        });
    }

    private static Case copy(int n, DType dtype) {
        return new Case("copy", dtype + " of " + n, bench -> {
            double[] values = bench.random("x", n);
            Probe x = dtype == DType.F32 ? bench.input("x", values, n) : bench.inputF64("x", values, n);
            Probe y = bench.output("y", dtype, 1, n);
            bench.ops().copy(y.tensor(), x.tensor());
            bench.expect(y, Expected.exactly(values));
        });
    }
}
