package org.isobar.backend.cpu.attention;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.onednn.OneDnn;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;

/** A product of attention: a block of left operands times a block of right operands, packed or not. */
final class AttentionProduct {
    private final BlockedRange left;
    private final AttentionOperand right;
    /**
     * For each {@link WriteMode}: whole blocks, last right block, last left block, both last. Where one is null, the
     * product is oneDNN's direct function.
     */
    private final Matmul[] matmuls = new Matmul[4 * WriteMode.values().length];

    /**
     * Compiles the product for all block sizes.
     *
     * @param left   blocks of the rows of the left operand
     * @param a      layout of a left operand
     * @param c      layout of a result
     * @param writes the write modes that will be used
     */
    AttentionProduct(MatmulCache compiler, BlockedRange left, AttentionOperand right, Matrix a, Matrix c,
        WriteMode... writes) {
        this.left = left;
        this.right = right;
        for (WriteMode write : writes) {
            for (int row : new int[] {0, left.blocks() - 1}) {
                for (int column : new int[] {0, right.blocks() - 1}) {
                    Packing packing = right.packing(column);
                    if (packing != null) {
                        matmuls[index(write, row, column)] =
                            compiler.matmul(packing, left.length(row), a, c, Matmul.Finish.of(write));
                    } else if (GeneratedCode.hasProducts(DType.F32)) {
                        matmuls[index(write, row, column)] = compiler.plain(left.length(row), right.columns(column),
                            right.terms(column), a, right.plain(0, column), c, Matmul.Finish.of(write));
                    }
                }
            }
        }
    }

    private int index(WriteMode write, int leftBlock, int rightBlock) {
        return 4 * write.ordinal() + (leftBlock == left.blocks() - 1 ? 2 : 0)
            + (rightBlock == right.blocks() - 1 ? 1 : 0);
    }

    /** Computes {@code c} from a block {@code a} of left operands and a block of right operands of the given head. */
    void run(int worker, Matrix c, Matrix a, int leftBlock, int head, int rightBlock, WriteMode write) {
        Matmul matmul = matmuls[index(write, leftBlock, rightBlock)];
        if (matmul == null) {
            OneDnn.product(c, left.length(leftBlock), right.columns(rightBlock), right.terms(rightBlock), a,
                right.plain(head, rightBlock), write);
        } else {
            matmul.run(worker, c, a, right.packing(rightBlock) == null
                ? right.plain(head, rightBlock).address() : right.at(head, rightBlock));
        }
    }
}
