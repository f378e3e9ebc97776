package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.tensor.DType;

/** Copies from a right operand to its panels. */
final class PanelCopies implements AutoCloseable {
    private final Panel panel;
    private final long panels;
    private final MachineCode whole;
    private final MachineCode last;

    /** Generates the code for copies of {@code steps} rows of panels. */
    PanelCopies(Panel panel, Packing.Key operand, long steps) {
        this.panel = panel;
        panels = panel.count(operand.n());
        whole = copy(operand, panel.columns(), steps);
        int columns = panel.columns(operand.n(), panels - 1);
        try {
            last = columns == panel.columns() ? whole : copy(operand, columns, steps);
        } catch (RuntimeException | Error failure) {
            whole.close();
            throw failure;
        }
    }

    private MachineCode copy(Packing.Key operand, int columns, long steps) {
        return copy(operand.dtype(), panel.columns(), columns, steps, operand.stride(), operand.transposed());
    }

    /**
     * Generates the code that copies columns of a matrix to a panel, or rows of its transpose.
     *
     * @param width  columns of the panel
     * @param n      columns to copy
     * @param steps  rows of the panel
     * @param stride elements from one stored row of the matrix to the next
     */
    static MachineCode copy(DType dtype, int width, int n, long steps, long stride, boolean transposed) {
        long bytes = stride * dtype.bytes();
        return dtype == DType.BF16 && !transposed ? new PairCopy(width, n, Math.toIntExact(steps), bytes).compile()
            : new PanelCopy(width, n, Math.toIntExact(steps), bytes, transposed).compile();
    }

    /** Copies to the panel at the given address, from the first row of {@code b} on. */
    void run(long to, Matrix b, long number) {
        (number == panels - 1 ? last : whole).run(b.at(0, number * panel.columns()).address(), to, 0, 0);
    }

    @Override
    public void close() {
        if (last != whole) {
            last.close();
        }
        whole.close();
    }
}
