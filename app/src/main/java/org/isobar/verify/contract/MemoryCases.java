package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;

/** Cases of filling and copying. */
final class MemoryCases {
    private MemoryCases() { }

    /** Operations that every device supports for a type, even if it is not a compute type. */
    static List<ContractCase> storage(DType dtype) {
        List<ContractCase> cases = new ArrayList<>();
        for (int n : EdgeSizes.elements()) {
            cases.add(fill(n, dtype, 0));
            cases.add(fill(n, dtype, -1.25));
            cases.add(copy(n, dtype));
        }
        cases.add(fill(67, dtype, 0.1));
        return cases;
    }

    private static ContractCase fill(int n, DType dtype, double value) {
        return new ContractCase("fill", OperandTypes.of(dtype, "y"), "of " + n + " with " + value, bench -> {
            GuardedTensor y = bench.output("y", n);
            bench.ops().memory().fill(y.tensor(), value);
            double[] values = new double[n];
            Arrays.fill(values, value);
            bench.expect(y, ExpectedTensor.exactly(values));
        });
    }

    private static ContractCase copy(int n, DType dtype) {
        return new ContractCase("copy", OperandTypes.of(dtype, "y", "x"), "of " + n, bench -> {
            GuardedTensor x = bench.input("x", n);
            GuardedTensor y = bench.output("y", 1, n);
            bench.ops().memory().copy(y.tensor(), x.tensor());
            bench.expect(y, ExpectedTensor.exactly(x.values()));
        });
    }
}
