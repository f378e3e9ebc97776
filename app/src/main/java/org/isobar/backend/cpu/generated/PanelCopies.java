package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/** Copies from a right operand to its panels. */
final class PanelCopies implements AutoCloseable {
    private final long panels;
    private final MachineCode whole;
    private final MachineCode last;

    /** Generates the code for copies of {@code rows} rows of the operand. */
    PanelCopies(Packing.Key operand, long rows) {
        panels = panels(operand.n());
        whole = copy(operand, PanelProduct.COLUMNS, rows);
        int columns = columns(operand.n(), panels - 1);
        try {
            last = columns == PanelProduct.COLUMNS ? whole : copy(operand, columns, rows);
        } catch (RuntimeException | Error failure) {
            whole.close();
            throw failure;
        }
    }

    private static MachineCode copy(Packing.Key operand, int columns, long rows) {
        return new PanelCopy(PanelProduct.COLUMNS, columns, Math.toIntExact(rows), operand.stride() * Float.BYTES,
            operand.transposed()).compile();
    }

    /** Panels of n columns. */
    static long panels(long n) {
        return Math.ceilDiv(n, PanelProduct.COLUMNS);
    }

    /** Columns of a panel. */
    static int columns(long n, long panel) {
        return (int) Math.min(PanelProduct.COLUMNS, n - panel * PanelProduct.COLUMNS);
    }

    /** Copies to the panel at the given address, from the first row of {@code b} on. */
    void run(long to, Matrix b, long panel) {
        (panel == panels - 1 ? last : whole).run(b.at(0, panel * PanelProduct.COLUMNS).address(), to, 0, 0);
    }

    @Override
    public void close() {
        if (last != whole) {
            last.close();
        }
        whole.close();
    }
}
