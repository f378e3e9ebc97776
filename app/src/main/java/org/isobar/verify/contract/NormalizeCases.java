package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.verify.reference.ReferenceOps;

/** Cases of the per-channel normalization of fields to mean 0 and standard deviation 1. */
final class NormalizeCases {
    private NormalizeCases() { }

    static List<ContractCase> cases() {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] size : new int[][] {{1, 1, 1, 1}, {3, 2, 5, 7}, {2, 3, 32, 64}, {1, 20, 33, 47}}) {
            String variant = size[0] + " x " + size[1] + " x " + size[2] + " x " + size[3];
            cases.add(new ContractCase("normalize", OperandTypes.SINGLE, variant, bench ->
                normalize(bench, bench.input("x", extents(size)), bench.output("y", extents(size)))));
            cases.add(new ContractCase("normalize", OperandTypes.SINGLE, variant + " in place", bench -> {
                GuardedTensor x = bench.inOut("x", extents(size));
                normalize(bench, x, x);
            }));
        }
        return cases;
    }

    private static long[] extents(int[] size) {
        return Arrays.stream(size).asLongStream().toArray();
    }

    private static void normalize(OperationBench bench, GuardedTensor x, GuardedTensor y) {
        int channels = (int) x.tensor().shape().extent(1);
        int plane = (int) (x.tensor().shape().extent(2) * x.tensor().shape().extent(3));
        double[] deviations = bench.random("std", channels);
        Arrays.setAll(deviations, c -> 0.1 + Math.abs(deviations[c]));
        GuardedTensor mean = bench.input("mean", channels);
        GuardedTensor std = bench.input("std", deviations, channels);
        bench.ops().images().normalize(y.tensor(), x.tensor(), mean.tensor(), std.tensor());
        bench.expect(y, ReferenceOps.normalized(x.values(), mean.values(), std.values(), plane));
    }
}
