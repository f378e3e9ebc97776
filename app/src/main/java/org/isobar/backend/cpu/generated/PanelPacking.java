package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/** Panels of {@link PanelProduct#COLUMNS} columns, one after the other. */
public final class PanelPacking implements Packing {
    private final Key key;
    private final PanelCopies copies;

    /** Generates the code that packs. */
    public PanelPacking(Key key) {
        this.key = key;
        copies = new PanelCopies(key, key.k());
    }

    @Override
    public Key key() {
        return key;
    }

    /** Rows of panels are cache lines. */
    @Override
    public long bytes() {
        return PanelCopies.panels(key.n()) * key.k() * PanelProduct.ROW;
    }

    @Override
    public void pack(int worker, long to, Matrix b) {
        assert key.fits(b) : b + ", " + key;
        for (long panel = 0; panel < PanelCopies.panels(key.n()); panel++) {
            copies.run(to + panel * key.k() * PanelProduct.ROW, b, panel);
        }
    }

    @Override
    public void close() {
        copies.close();
    }
}
