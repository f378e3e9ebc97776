package org.isobar.verify;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;

/** Filling, copying and transposing. */
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
        for (int[] shape : new int[][] {{1, 1, 1}, {2, 3, 5}, {4, 1, 17}, {1, 7, 3}, {61, 4, 33}}) {
            cases.add(transposeOuter(shape[0], shape[1], shape[2]));
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

    private static Case transposeOuter(int rows, int columns, int width) {
        return new Case("transposeOuter", rows + " x " + columns + " x " + width, bench -> {
            double[] values = bench.random("x", rows * columns * width);
            Probe x = bench.input("x", values, rows, columns, width);
            Probe y = bench.output("y", DType.F32, columns, rows, width);
            bench.ops().transposeOuter(y.tensor(), x.tensor());
            double[] exchanged = new double[values.length];
            for (int i = 0; i < values.length; i++) {
                int row = i / (columns * width);
                int column = i / width % columns;
                exchanged[(column * rows + row) * width + i % width] = values[i];
            }
            bench.expect(y, Expected.exactly(exchanged));
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
