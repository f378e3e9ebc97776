package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceLayerNorm;
import org.isobar.verify.reference.ReferenceOps;
import org.isobar.verify.reference.ReferenceProducts;

/** Cases of the residual stream with drop-path, and of dropout with every sharding of the global index space. */
final class ResidualCases {
    private static final Philox.Key KEY = Philox.Key.of(7, "blocks.0.drop").at(11);
    private static final double EPSILON = 1e-6;
    private static final Dropout DROP_PATH = new Dropout(0.4, KEY, List.of(new IndexSpan(3, 2, 100)));

    private ResidualCases() { }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (Dropout dropPath : List.of(Dropout.NONE, DROP_PATH)) {
            for (int[] size : new int[][] {{1, 1, 1}, {8, 3, 5}, {5, 40, 64}, {2, 131, 192}}) {
                String variant = size[0] + " x " + size[1] + " x " + size[2]
                    + (dropPath.isNone() ? "" : " with drop-path");
                cases.add(residual(a, variant, size[0], size[1], size[2], dropPath));
                cases.add(residualBackward(a, variant, size[0], size[1], size[2], dropPath));
                cases.add(residualLayerNorm(a, variant, size[0], size[1], size[2], dropPath));
                cases.add(residualLayerNormBackward(a, variant, size[0], size[1], size[2], dropPath));
            }
        }
        cases.add(residualLayerNormInPlace(a));
        cases.add(residualOverX(a));
        if (a == DType.F32) {
            cases.add(residualOverBranch());
            cases.add(residualBackwardInPlace());
        }
        for (double probability : new double[] {0.1, 0.5, 0.999}) {
            cases.add(dropout(a, "of whole tensors, p=" + probability, 3, 7, 67, new Dropout(probability, KEY,
                List.of(IndexSpan.whole(3), IndexSpan.whole(7), IndexSpan.whole(67)))));
        }
        cases.add(dropout(a, "of nothing", 3, 7, 67, Dropout.NONE));
        cases.add(dropout(a, "of a part beyond 2^32", 2, 5, 48, new Dropout(0.3, KEY,
            List.of(new IndexSpan(70_001, 2, 100_000), new IndexSpan(5, 1, 1013), new IndexSpan(144, 1, 193)))));
        cases.add(dropout(a, "of every third column", 2, 5, 48, new Dropout(0.3, KEY,
            List.of(IndexSpan.whole(2), new IndexSpan(1, 3, 20), new IndexSpan(2, 3, 145)))));
        cases.add(dropout(a, "of wide rows", 1, 2, 5000, new Dropout(0.2, KEY,
            List.of(IndexSpan.whole(1), IndexSpan.whole(2), new IndexSpan(1, 1, 5001)))));
        cases.add(dropout(a, "of rows that begin at each of four neighbours", 1, 4, 2048, new Dropout(0.2, KEY,
            List.of(IndexSpan.whole(1), IndexSpan.whole(4), new IndexSpan(3, 1, 5001)))));
        cases.add(dropoutInPlace(a));
        return cases;
    }

    private static ContractCase residual(DType a, String variant, int b, int t, int c, Dropout dropPath) {
        return new ContractCase("residual", OperandTypes.of(a, "branch"), variant, bench -> {
            GuardedTensor x = bench.input("x", b, t, c);
            GuardedTensor branch = bench.input("branch", b, t, c);
            GuardedTensor y = bench.output("y", b, t, c);
            bench.ops().residuals().residual(y.tensor(), x.tensor(), branch.tensor(), dropPath);
            bench.expect(y, ReferenceOps.residual(x.values(), branch.values(), ReferenceOps.mask(dropPath, b)));
        });
    }

    private static ContractCase residualOverX(DType a) {
        return new ContractCase("residual", OperandTypes.of(a, "branch"), "over x", bench -> {
            GuardedTensor x = bench.inOut("x", 6, 9, 31);
            GuardedTensor branch = bench.input("branch", 6, 9, 31);
            bench.ops().residuals().residual(x.tensor(), x.tensor(), branch.tensor(), DROP_PATH);
            bench.expect(x, ReferenceOps.residual(x.values(), branch.values(), ReferenceOps.mask(DROP_PATH, 6)));
        });
    }

    private static ContractCase residualOverBranch() {
        return new ContractCase("residual", OperandTypes.SINGLE, "over branch", bench -> {
            GuardedTensor x = bench.input("x", 6, 9, 31);
            GuardedTensor branch = bench.inOut("branch", 6, 9, 31);
            bench.ops().residuals().residual(branch.tensor(), x.tensor(), branch.tensor(), DROP_PATH);
            bench.expect(branch, ReferenceOps.residual(x.values(), branch.values(), ReferenceOps.mask(DROP_PATH, 6)));
        });
    }

    private static ContractCase residualLayerNorm(DType a, String variant, int b, int t, int c, Dropout dropPath) {
        return new ContractCase("residualLayerNorm", OperandTypes.of(a, "y", "branch"), variant, bench ->
            residualLayerNorm(bench, bench.input("x", b, t, c),
            bench.output("z", b, t, c), bench.input("branch", b, t, c), dropPath));
    }

    private static ContractCase residualLayerNormInPlace(DType a) {
        return new ContractCase("residualLayerNorm", OperandTypes.of(a, "y", "branch"), "over x", bench -> {
            GuardedTensor x = bench.inOut("x", 6, 9, 32);
            residualLayerNorm(bench, x, x, bench.input("branch", 6, 9, 32), DROP_PATH);
        });
    }

    private static void residualLayerNorm(OperationBench bench, GuardedTensor x, GuardedTensor z, GuardedTensor branch,
        Dropout dropPath) {
        int b = (int) x.tensor().shape().extent(0);
        int t = (int) x.tensor().shape().extent(1);
        int c = (int) x.tensor().shape().extent(2);
        GuardedTensor gamma = bench.input("gamma", c);
        GuardedTensor beta = bench.input("beta", c);
        GuardedTensor y = bench.output("y", b, t, c);
        GuardedTensor mean = bench.output("mean", b * t);
        GuardedTensor invStd = bench.output("invStd", b * t);
        bench.ops().norms().residualLayerNorm(y.tensor(), z.tensor(), mean.tensor(), invStd.tensor(), x.tensor(),
            branch.tensor(), dropPath, gamma.tensor(), beta.tensor(), EPSILON);
        ExpectedTensor sums = ReferenceOps.residual(x.values(), branch.values(), ReferenceOps.mask(dropPath, b));
        ReferenceLayerNorm reference = new ReferenceLayerNorm(sums, c, EPSILON);
        bench.expect(z, sums);
        bench.expect(mean, reference.means());
        bench.expect(invStd, reference.invStds());
        bench.expect(y, reference.forward(gamma.values(), beta.values()));
    }

    private static ContractCase residualLayerNormBackward(DType a, String variant, int b, int t, int c,
        Dropout dropPath) {
        boolean output = !dropPath.isNone();
        return new ContractCase("residualLayerNormBackward", OperandTypes.of(a, "dBranch", "dy"), variant, bench -> {
            GuardedTensor z = bench.input("z", b, t, c);
            ReferenceLayerNorm statistics = new ReferenceLayerNorm(z.values(), c, EPSILON);
            GuardedTensor mean = bench.input("mean", statistics.mean(), b * t);
            GuardedTensor invStd = bench.input("invStd", statistics.invStd(), b * t);
            GuardedTensor gamma = bench.input("gamma", c);
            GuardedTensor beta = bench.input("beta", c);
            GuardedTensor dy = output ? bench.inOut("dy", b, t, c) : bench.input("dy", b, t, c);
            GuardedTensor dGamma = bench.inOut("dGamma", c);
            GuardedTensor dBeta = bench.inOut("dBeta", c);
            GuardedTensor dz = bench.inOut("dz", b, t, c);
            GuardedTensor dBranch = bench.output("dBranch", b, t, c);
            GuardedTensor dBias = bench.inOut("dBias", c);
            bench.ops().norms().residualLayerNormBackward(dz.tensor(),
                new BiasedGradient(dBranch.tensor(), dropPath, dBias.tensor()), dGamma.tensor(), dBeta.tensor(),
                dy.tensor(), z.tensor(), mean.tensor(), invStd.tensor(), gamma.tensor(),
                output ? Optional.of(new RecomputedNorm(dy.tensor(), beta.tensor())) : Optional.empty());
            ReferenceLayerNorm reference = new ReferenceLayerNorm(z.values(), c, mean.values(), invStd.values());
            ExpectedTensor sums = reference.input(dz.values(), dy.values(), gamma.values());
            bench.expect(dz, sums);
            bench.expect(dBranch, sums.scaled(ReferenceOps.mask(dropPath, b)));
            bench.expect(dBias, ReferenceProducts.columnSums(dBias.values(), bench.found(dBranch)));
            bench.expect(dGamma, reference.gamma(dGamma.values(), dy.values()));
            bench.expect(dBeta, reference.beta(dBeta.values(), dy.values()));
            if (output) {
                bench.expect(dy, reference.forward(gamma.values(), beta.values()));
            }
        });
    }

    private static ContractCase residualBackward(DType a, String variant, int b, int t, int c, Dropout dropPath) {
        return new ContractCase("residualBackward", OperandTypes.of(a, "dBranch"), variant, bench -> {
            GuardedTensor dy = bench.input("dy", b, t, c);
            GuardedTensor dBranch = bench.output("dBranch", b, t, c);
            bench.ops().residuals().residualBackward(dBranch.tensor(), dy.tensor(), dropPath);
            bench.expect(dBranch, ReferenceOps.masked(dy.values(), ReferenceOps.mask(dropPath, b)));
        });
    }

    private static ContractCase residualBackwardInPlace() {
        return new ContractCase("residualBackward", OperandTypes.SINGLE, "in place", bench -> {
            GuardedTensor dy = bench.inOut("dy", 6, 9, 31);
            bench.ops().residuals().residualBackward(dy.tensor(), dy.tensor(), DROP_PATH);
            bench.expect(dy, ReferenceOps.masked(dy.values(), ReferenceOps.mask(DROP_PATH, 6)));
        });
    }

    private static ContractCase dropout(DType a, String variant, int b, int t, int c, Dropout dropout) {
        return new ContractCase("dropout", OperandTypes.of(a, "y", "x"), variant, bench -> {
            GuardedTensor x = bench.input("x", b, t, c);
            GuardedTensor y = bench.output("y", b, t, c);
            bench.ops().residuals().dropout(y.tensor(), x.tensor(), dropout);
            bench.expect(y, ReferenceOps.masked(x.values(), ReferenceOps.mask(dropout, b, t, c)));
        });
    }

    private static ContractCase dropoutInPlace(DType a) {
        return new ContractCase("dropout", OperandTypes.of(a, "y", "x"), "in place", bench -> {
            Dropout dropout =
                new Dropout(0.25, KEY, List.of(IndexSpan.whole(4), IndexSpan.whole(9), IndexSpan.whole(31)));
            GuardedTensor x = bench.inOut("x", 4, 9, 31);
            bench.ops().residuals().dropout(x.tensor(), x.tensor(), dropout);
            bench.expect(x, ReferenceOps.masked(x.values(), ReferenceOps.mask(dropout, 4, 9, 31)));
        });
    }
}
