package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceOps;

/** Filling, copying and transposing. */
final class MemoryCases {
    private MemoryCases() { }

    /** What every device can do with a type, whether or not it computes products in it. */
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

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] shape : new int[][] {{1, 1, 1}, {2, 3, 5}, {4, 1, 17}, {1, 7, 3}, {5, 6, 32}, {61, 4, 33}}) {
            cases.add(transposeOuter(a, shape[0], shape[1], shape[2]));
        }
        return cases;
    }

    private static ContractCase fill(int n, DType dtype, double value) {
        return new ContractCase(dtype, "fill", "of " + n + " with " + value, bench -> {
            GuardedTensor y = bench.output(dtype, "y", n);
            bench.ops().fill(y.tensor(), value);
            double[] values = new double[n];
            Arrays.fill(values, value);
            bench.expect(y, ExpectedTensor.exactly(values));
        });
    }

    private static ContractCase copy(int n, DType dtype) {
        return new ContractCase(dtype, "copy", "of " + n, bench -> {
            GuardedTensor x = bench.input(dtype, "x", n);
            GuardedTensor y = bench.output(dtype, "y", 1, n);
            bench.ops().copy(y.tensor(), x.tensor());
            bench.expect(y, ExpectedTensor.exactly(x.values()));
        });
    }

    private static ContractCase transposeOuter(DType a, int rows, int columns, int width) {
        return new ContractCase(a, "transposeOuter", rows + " x " + columns + " x " + width, bench -> {
            GuardedTensor x = bench.input(a, "x", rows, columns, width);
            GuardedTensor y = bench.output(a, "y", columns, rows, width);
            bench.ops().transposeOuter(y.tensor(), x.tensor());
            bench.expect(y, ExpectedTensor.exactly(ReferenceOps.transposed(x.values(), rows, columns, width)));
        });
    }
}
