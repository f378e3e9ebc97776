package org.isobar.backend.cpu.onednn;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.StackedMatmul;

/** Products of stacks that oneDNN compiles as one primitive: one call has one start-up cost. */
final class OneDnnStackedMatmul implements StackedMatmul {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;

    private final Key key;
    private final Primitive primitive;

    /** Compiles the products. */
    OneDnnStackedMatmul(Key key, engine cpu, int workers) {
        this.key = key;
        OneDnn.useThisThreadAlone();
        Extents extents = key.extents();
        try (memory.desc a = describe(key.a(), extents.count(), extents.m(), extents.k());
            memory.desc b = describe(key.b(), extents.count(), extents.k(), extents.n());
            memory.desc c = describe(key.c(), extents.count(), extents.m(), extents.n());
            primitive_attr attributes = OneDnn.attributes();
            post_ops after = new post_ops()) {
            if (key.factor() != 1) {
                after.append_eltwise(dnnl.algorithm.eltwise_linear, key.factor(), 0);
                attributes.set_post_ops(after);
            }
            try (matmul.primitive_desc product = new matmul.primitive_desc(cpu, a, b, c, attributes, false)) {
                primitive = new Primitive(new matmul(product), product, cpu, workers,
                    new Primitive.Argument(OneDnn.LEFT, a), new Primitive.Argument(OneDnn.RIGHT, b),
                    new Primitive.Argument(OneDnn.RESULT, c));
            }
        }
    }

    /** Describes {@code count} matrices (rows, columns). */
    private static memory.desc describe(Layout layout, long count, long rows, long columns) {
        return OneDnn.strided(layout.dtype(), new long[] {count, rows, columns}, layout.transposed()
            ? new long[] {layout.apart(), 1, layout.stride()} : new long[] {layout.apart(), layout.stride(), 1});
    }

    @Override
    public void run(int worker, MatrixStack c, MatrixStack a, MatrixStack b) {
        assert key.fits(a, b, c) : c + ", " + a + ", " + b + ", " + key;
        Primitive.Call call = primitive.call(worker);
        call.set(LEFT, a.first().address());
        call.set(RIGHT, b.first().address());
        call.set(RESULT, c.first().address());
        call.run();
    }

    @Override
    public void close() {
        primitive.close();
    }
}
