package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ReferenceImages;
import org.isobar.verify.reference.ReferenceOps;

/** Cases of patchify, unpatchify and position embeddings. */
final class PatchCases {
    private PatchCases() { }

    /** Patchify and unpatchify. */
    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        for (PatchShape.Order order : PatchShape.Order.values()) {
            for (PatchShape shape : List.of(new PatchShape(1, 1, 1, 1, 1, order), new PatchShape(2, 3, 6, 9, 3, order),
                new PatchShape(1, 20, 16, 40, 8, order), new PatchShape(3, 2, 4, 8, 4, order),
                new PatchShape(2, 5, 7, 3, 1, order))) {
                cases.add(patchify(a, shape));
                cases.add(unpatchify(a, shape));
            }
        }
        return cases;
    }

    /** Position embeddings, in F32 only. */
    static List<ContractCase> positions() {
        List<ContractCase> cases = new ArrayList<>();
        for (int[] size : new int[][] {{1, 1, 1}, {3, 5, 7}, {2, 128, 192}, {4, 10, 16}}) {
            cases.add(addPositions(size[0], size[1], size[2]));
            cases.add(addPositionsBackward(size[0], size[1], size[2]));
        }
        cases.add(addPositionsInPlace());
        return cases;
    }

    private static String variant(PatchShape shape) {
        return shape.batch() + " x " + shape.channels() + " x " + shape.height() + " x " + shape.width() + " by "
            + shape.patch() + ", " + shape.order();
    }

    private static ContractCase patchify(DType a, PatchShape shape) {
        return new ContractCase("patchify", OperandTypes.of(a, "tokens"), variant(shape), bench -> {
            GuardedTensor image = bench.input("image", shape.batch(), shape.channels(), shape.height(), shape.width());
            GuardedTensor tokens = bench.output("tokens", shape.batch(), shape.tokens(), shape.tokenSize());
            bench.ops().images().patchify(tokens.tensor(), image.tensor(), shape);
            bench.expect(tokens, ReferenceImages.patchify(image.values(), shape));
        });
    }

    private static ContractCase unpatchify(DType a, PatchShape shape) {
        return new ContractCase("unpatchify", OperandTypes.of(a, "tokens"), variant(shape), bench -> {
            GuardedTensor tokens = bench.input("tokens", shape.batch(), shape.tokens(), shape.tokenSize());
            GuardedTensor image = bench.output("image", shape.batch(), shape.channels(), shape.height(), shape.width());
            bench.ops().images().unpatchify(image.tensor(), tokens.tensor(), shape);
            bench.expect(image, ReferenceImages.unpatchify(tokens.values(), shape));
        });
    }

    private static ContractCase addPositions(int b, int t, int c) {
        return new ContractCase("addPositions", OperandTypes.SINGLE, b + " x " + t + " x " + c, bench -> {
            GuardedTensor x = bench.input("x", b, t, c);
            GuardedTensor positions = bench.input("positions", t, c);
            GuardedTensor y = bench.output("y", b, t, c);
            bench.ops().images().addPositions(y.tensor(), x.tensor(), positions.tensor());
            bench.expect(y, ReferenceOps.addPositions(x.values(), positions.values()));
        });
    }

    private static ContractCase addPositionsInPlace() {
        return new ContractCase("addPositions", OperandTypes.SINGLE, "in place", bench -> {
            GuardedTensor x = bench.inOut("x", 3, 50, 11);
            GuardedTensor positions = bench.input("positions", 50, 11);
            bench.ops().images().addPositions(x.tensor(), x.tensor(), positions.tensor());
            bench.expect(x, ReferenceOps.addPositions(x.values(), positions.values()));
        });
    }

    private static ContractCase addPositionsBackward(int b, int t, int c) {
        return new ContractCase("addPositionsBackward", OperandTypes.SINGLE, b + " x " + t + " x " + c, bench -> {
            GuardedTensor dPositions = bench.inOut("dPositions", t, c);
            GuardedTensor dy = bench.input("dy", b, t, c);
            bench.ops().images().addPositionsBackward(dPositions.tensor(), dy.tensor());
            bench.expect(dPositions, ReferenceOps.addPositionsBackward(dPositions.values(), dy.values()));
        });
    }
}
