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
        long stride = operand.stride() * operand.dtype().bytes();
        return operand.dtype() == DType.BF16 && !operand.transposed()
            ? new PairCopy(panel.columns(), columns, Math.toIntExact(steps), stride).compile()
            : new PanelCopy(panel.columns(), columns, Math.toIntExact(steps), stride, operand.transposed()).compile();
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
