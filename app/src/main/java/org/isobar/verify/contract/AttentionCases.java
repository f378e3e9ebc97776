package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ReferenceAttention;

/**
 * Cases of attention: equal and unequal numbers of queries and keys, sharp and flat distributions, with and without
 * dropout; every head size that has a specialized GPU kernel, and others, one so wide that blocks are smaller.
 */
final class AttentionCases {
    private static final AttentionShape TILED = new AttentionShape(1, 131, 131, 2, 48);
    private static final List<AttentionShape> SHAPES = List.of(
        new AttentionShape(1, 1, 1, 1, 1), new AttentionShape(2, 5, 5, 3, 8), new AttentionShape(1, 33, 17, 2, 12),
        new AttentionShape(2, 16, 70, 1, 5), TILED,
        new AttentionShape(1, 3, 300, 1, 32), new AttentionShape(1, 64, 64, 1, 128),
        new AttentionShape(1, 65, 129, 2, 64), new AttentionShape(2, 70, 31, 1, 80),
        new AttentionShape(1, 129, 65, 1, 96), new AttentionShape(1, 3, 2, 1, 3620),
        new AttentionShape(2, 37, 45, 3, 16));

    private AttentionCases() { }

    /** The attention shapes of all cases. */
    static List<AttentionShape> shapes() {
        return SHAPES;
    }

    static List<ContractCase> cases(DType a) {
        List<ContractCase> cases = new ArrayList<>();
        SHAPES.forEach(each -> add(a, cases, "of " + extents(each), each, 1, Dropout.NONE));
        AttentionShape shape = SHAPES.getLast();
        add(a, cases, "with large scores", shape, 6, Dropout.NONE);
        add(a, cases, "with equal scores", shape, 0, Dropout.NONE);
        cases.add(forward(a, "with scores beyond those of the first tile", TILED, 200, Dropout.NONE));
        Philox.Key key = Philox.Key.of(1, "attention").at(3);
        add(a, cases, "with dropout", shape, 1, new Dropout(0.3, key,
            List.of(IndexSpan.whole(2), IndexSpan.whole(3), IndexSpan.whole(37), IndexSpan.whole(45))));
        add(a, cases, "with dropout in tiles", TILED, 1, new Dropout(0.3, key,
            List.of(IndexSpan.whole(1), IndexSpan.whole(2), IndexSpan.whole(131), IndexSpan.whole(131))));
        add(a, cases, "with dropout of a part", shape, 1, new Dropout(0.5, key, List.of(
            new IndexSpan(1, 4, 64), new IndexSpan(3, 1, 12), new IndexSpan(1000, 1, 40_000),
            new IndexSpan(2, 1, 40_001))));
        return cases;
    }

    private static String extents(AttentionShape shape) {
        return "B=" + shape.batch() + " Tq=" + shape.queries() + " Tk=" + shape.keys() + " H=" + shape.heads() + " D="
            + shape.headDim();
    }

    private static void add(DType a, List<ContractCase> cases, String variant, AttentionShape shape, double sharpness,
        Dropout dropout) {
        cases.add(forward(a, variant, shape, sharpness, dropout));
        cases.add(backward(a, variant, shape, sharpness, dropout));
    }

    private static GuardedTensor query(DType a, OperationBench bench, AttentionShape shape, double sharpness) {
        double[] q = bench.random("q", shape.batch() * shape.queries() * shape.heads() * shape.headDim());
        Arrays.setAll(q, i -> sharpness * q[i]);
        return bench.input("q", q, shape.batch(), shape.queries(), shape.heads(), shape.headDim());
    }

    private static ReferenceAttention reference(DType a, OperationBench bench, GuardedTensor q, GuardedTensor kv,
        AttentionShape shape,
        Dropout dropout) {
        return new ReferenceAttention(q.values(), kv.values(), shape, dropout, a, bench.operandRoundoff("q"));
    }

    private static ContractCase forward(DType a, String variant, AttentionShape shape, double sharpness,
        Dropout dropout) {
        return new ContractCase("attention", OperandTypes.of(a, "out", "q", "kv"), variant, bench -> {
            GuardedTensor q = query(a, bench, shape, sharpness);
            GuardedTensor kv = bench.input("kv", shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
            GuardedTensor out = bench.output("out", shape.batch(), shape.queries(), shape.heads(), shape.headDim());
            GuardedTensor lse = bench.output("lse", shape.batch(), shape.heads(), shape.queries());
            bench.ops().attention().attention(out.tensor(), lse.tensor(), q.tensor(), kv.tensor(), shape, dropout);
            ReferenceAttention reference = reference(a, bench, q, kv, shape, dropout);
            bench.expect(lse, reference.lse());
            bench.expect(out, reference.out());
        });
    }

    private static ContractCase backward(DType a, String variant, AttentionShape shape, double sharpness,
        Dropout dropout) {
        OperandTypes types = OperandTypes.of(a, "dq", "dkv", "dOut", "q", "kv", "out");
        return new ContractCase("attentionBackward", types, variant, bench -> {
            GuardedTensor q = query(a, bench, shape, sharpness);
            GuardedTensor kv = bench.input("kv", shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
            ReferenceAttention reference = reference(a, bench, q, kv, shape, dropout);
            GuardedTensor out =
                bench.input("out", reference.out().values(), shape.batch(), shape.queries(), shape.heads(),
                shape.headDim());
            GuardedTensor lse =
                bench.input("lse", reference.lse().values(), shape.batch(), shape.heads(), shape.queries());
            GuardedTensor dOut = bench.input("dOut", shape.batch(), shape.queries(), shape.heads(), shape.headDim());
            GuardedTensor dq = bench.output("dq", shape.batch(), shape.queries(), shape.heads(), shape.headDim());
            GuardedTensor dkv = bench.output("dkv", shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
            bench.ops().attention().attentionBackward(dq.tensor(), dkv.tensor(), dOut.tensor(), q.tensor(), kv.tensor(),
                out.tensor(), lse.tensor(), shape, dropout);
            ReferenceAttention.Gradients expected = reference.backward(dOut.values(), out.values());
            bench.expect(dq, expected.dq());
            bench.expect(dkv, expected.dkv());
        });
    }
}
