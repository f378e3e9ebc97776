package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/** Panels of columns, one after the other. */
public final class PanelPacking implements Packing {
    private final Key key;
    private final Panel panel;
    private final PanelCopies copies;

    /** Generates the code that packs. */
    public PanelPacking(Key key) {
        this(key, GeneratedCode.set());
    }

    PanelPacking(Key key, InstructionSet set) {
        this.key = key;
        panel = Panel.of(set, key.n());
        copies = new PanelCopies(panel, key, steps());
    }

    private long steps() {
        return Panel.steps(key.dtype(), key.k());
    }

    @Override
    public Key key() {
        return key;
    }

    /** Rows of panels are cache lines. */
    @Override
    public long bytes() {
        return panel.count(key.n()) * steps() * panel.bytes();
    }

    @Override
    public void pack(int worker, long to, Matrix b) {
        assert key.fits(b) : b + ", " + key;
        for (long number = 0; number < panel.count(key.n()); number++) {
            copies.run(to + number * steps() * panel.bytes(), b, number);
        }
    }

    @Override
    public void close() {
        copies.close();
    }
}
