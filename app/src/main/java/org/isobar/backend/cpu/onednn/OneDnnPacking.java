package org.isobar.backend.cpu.onednn;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.reorder;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/** The packed layout that oneDNN chooses for the products of one shape. */
final class OneDnnPacking implements Packing {
    private static final int FROM = 0;
    private static final int TO = 1;

    private final Key key;
    private final memory.desc packed;
    private final long bytes;
    private final Primitive primitive;

    /** Queries oneDNN for the layout and compiles the reorder into it. */
    OneDnnPacking(Key key, engine cpu, int workers) {
        this.key = key;
        OneDnn.useThisThreadAlone();
        try (memory.desc plain = OneDnn.plain(key.dtype(), key.k(), key.n(), key.stride(), key.transposed());
            memory.desc a = OneDnn.plain(key.dtype(), key.rows(), key.k(), key.k(), false);
            memory.desc any = OneDnn.any(key.dtype(), key.k(), key.n());
            memory.desc c = OneDnn.plain(key.result(), key.rows(), key.n(), key.n(), false);
            matmul.primitive_desc product = new matmul.primitive_desc(cpu, a, any, c);
            primitive_attr attributes = OneDnn.attributes();
            memory.desc wanted = product.weights_desc();
            reorder.primitive_desc copy = new reorder.primitive_desc(cpu, plain, cpu, wanted, attributes, false)) {
            bytes = wanted.get_size();
            primitive = new Primitive(new reorder(copy), copy, cpu, workers,
                new Primitive.Argument(OneDnn.FROM, plain), new Primitive.Argument(OneDnn.TO, wanted));
            packed = new memory.desc(wanted); // last, so that no later failure leaks it
        }
    }

    @Override
    public Key key() {
        return key;
    }

    /** The packed layout. */
    memory.desc description() {
        return packed;
    }

    @Override
    public long bytes() {
        return Math.ceilDiv(bytes, CpuWorkspace.CACHE_LINE) * CpuWorkspace.CACHE_LINE;
    }

    @Override
    public void pack(int worker, long to, Matrix b) {
        assert key.fits(b) : b + ", " + key;
        Primitive.Call call = primitive.call(worker);
        call.set(FROM, b.address());
        call.set(TO, to);
        call.run();
    }

    @Override
    public void close() {
        primitive.close();
        packed.close();
    }
}
