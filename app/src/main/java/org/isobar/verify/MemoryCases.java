package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;

/** Filling, copying and transposing. */
final class MemoryCases {
    private MemoryCases() { }

    /** What every device can do with a type, whether or not it computes products in it. */
    static List<Case> storage(DType dtype) {
        List<Case> cases = new ArrayList<>();
        for (int n : Sizes.elements()) {
            cases.add(fill(n, dtype, 0));
            cases.add(fill(n, dtype, -1.25));
            cases.add(copy(n, dtype));
        }
        cases.add(fill(67, dtype, 0.1));
        return cases;
    }

    static List<Case> cases(DType a) {
        List<Case> cases = new ArrayList<>();
        for (int[] shape : new int[][] {{1, 1, 1}, {2, 3, 5}, {4, 1, 17}, {1, 7, 3}, {5, 6, 32}, {61, 4, 33}}) {
            cases.add(transposeOuter(a, shape[0], shape[1], shape[2]));
        }
        return cases;
    }

    private static Case fill(int n, DType dtype, double value) {
        return new Case(dtype, "fill", "of " + n + " with " + value, bench -> {
            Probe y = bench.output(dtype, "y", n);
            bench.ops().fill(y.tensor(), value);
            double[] values = new double[n];
            Arrays.fill(values, value);
            bench.expect(y, Expected.exactly(values));
        });
    }

    private static Case copy(int n, DType dtype) {
        return new Case(dtype, "copy", "of " + n, bench -> {
            Probe x = bench.input(dtype, "x", n);
            Probe y = bench.output(dtype, "y", 1, n);
            bench.ops().copy(y.tensor(), x.tensor());
            bench.expect(y, Expected.exactly(x.values()));
        });
    }

    private static Case transposeOuter(DType a, int rows, int columns, int width) {
        return new Case(a, "transposeOuter", rows + " x " + columns + " x " + width, bench -> {
            Probe x = bench.input(a, "x", rows, columns, width);
            Probe y = bench.output(a, "y", columns, rows, width);
            bench.ops().transposeOuter(y.tensor(), x.tensor());
            bench.expect(y, Expected.exactly(ReferenceOps.transposed(x.values(), rows, columns, width)));
        });
    }
}
