package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.backend.cpu.product.StackedMatmul;

/** Products of stacks, one after the other. */
public final class PanelStackedMatmul implements StackedMatmul {
    private final Key key;
    private final PanelMatmul product;

    /** Generates the code. */
    public PanelStackedMatmul(Key key, PackingScratch scratch) {
        this(key, GeneratedCode.set(), scratch);
    }

    PanelStackedMatmul(Key key, InstructionSet set, PackingScratch scratch) {
        this.key = key;
        Extents extents = key.extents();
        Packing.Key right = new Packing.Key(key.b().dtype(), key.c().dtype(), extents.m(), extents.n(), extents.k(),
            key.b().stride(), key.b().transposed());
        product = new PanelMatmul(new Matmul.Key(right, Matmul.Form.PLAIN, extents.m(), key.a().stride(),
            key.a().transposed(), key.c().stride(), Matmul.Finish.OVERWRITE), set, key.factor(), scratch);
    }

    @Override
    public void run(int worker, MatrixStack c, MatrixStack a, MatrixStack b) {
        assert key.fits(a, b, c) : c + ", " + a + ", " + b + ", " + key;
        for (long i = 0; i < key.extents().count(); i++) {
            product.run(worker, c.get(i), a.get(i), b.get(i).address());
        }
    }

    @Override
    public void close() {
        product.close();
    }
}
