package org.isobar.backend.cpu;

import org.isobar.device.Write;

/** One of attention's products, of a block of left operands and a packed block of right ones. */
final class AttentionProduct {
    private final Cut left;
    private final AttentionOperand right;
    /** For each {@link Write} in turn: whole blocks, last ones on the right, on the left, on both sides. */
    private final Matmul[] matmuls = new Matmul[4 * Write.values().length];

    /**
     * Has what it needs compiled.
     *
     * @param left   how the rows of the left operand are cut
     * @param a      how a left operand lies
     * @param c      how a result lies
     * @param writes what may become of what a result was before
     */
    AttentionProduct(Matmuls compiler, Cut left, AttentionOperand right, Matrix a, Matrix c, Write... writes) {
        this.left = left;
        this.right = right;
        for (Write write : writes) {
            for (int row : new int[] {0, left.blocks() - 1}) {
                for (int column : new int[] {0, right.blocks() - 1}) {
                    Packing packing = right.packing(column);
                    if (packing != null) {
                        matmuls[index(write, row, column)] =
                            compiler.matmul(packing, left.length(row), a, c, write);
                    }
                }
            }
        }
    }

    private int index(Write write, int leftBlock, int rightBlock) {
        return 4 * write.ordinal() + (leftBlock == left.blocks() - 1 ? 2 : 0)
            + (rightBlock == right.blocks() - 1 ? 1 : 0);
    }

    /** Computes {@code c} from a block of left operands, {@code a}, and a block of right ones of the same head. */
    void run(int worker, Matrix c, Matrix a, int leftBlock, int head, int rightBlock, Write write) {
        if (right.packing(rightBlock) == null) {
            OneDnn.product(c, left.length(leftBlock), right.columns(rightBlock), right.terms(rightBlock), a,
                right.plain(head, rightBlock), write);
        } else {
            matmuls[index(write, leftBlock, rightBlock)].run(worker, c, a, right.at(head, rightBlock));
        }
    }
}
