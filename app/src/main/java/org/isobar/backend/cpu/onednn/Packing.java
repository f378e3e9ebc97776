package org.isobar.backend.cpu.onednn;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.reorder;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.tensor.DType;

/** The packed layout of a right operand, which oneDNN's products of one shape read once and in order. */
public final class Packing implements AutoCloseable {
    private static final int FROM = 0;
    private static final int TO = 1;

    private final Key key;
    private final memory.desc packed;
    private final long bytes;
    private final Primitive primitive;

    /**
     * The parameters that a packing is created for.
     *
     * @param dtype      of the operands
     * @param result     type of the products
     * @param rows       approximate number of rows of the left operands
     * @param n          columns of the right operand
     * @param k          rows of the right operand
     * @param stride     elements from one stored row of the right operand to the next
     * @param transposed whether the stored rows are its columns
     */
    record Key(DType dtype, DType result, long rows, long n, long k, long stride, boolean transposed) { }

    /** Queries oneDNN for the layout and compiles the reorder into it. */
    Packing(Key key, engine cpu, int workers) {
        this.key = key;
        OneDnn.useThisThreadAlone();
        try (memory.desc plain = OneDnn.plain(key.dtype, key.k, key.n, key.stride, key.transposed);
            memory.desc a = OneDnn.plain(key.dtype, key.rows, key.k, key.k, false);
            memory.desc any = OneDnn.any(key.dtype, key.k, key.n);
            memory.desc c = OneDnn.plain(key.result, key.rows, key.n, key.n, false);
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

    public Key key() {
        return key;
    }

    /** The packed layout. */
    memory.desc description() {
        return packed;
    }

    /** Bytes of a packed operand, a multiple of the cache line size. */
    public long bytes() {
        return Math.ceilDiv(bytes, CpuWorkspace.CACHE_LINE) * CpuWorkspace.CACHE_LINE;
    }

    /** Packs {@code b} to the address {@code to} on the calling thread, which has index {@code worker} in the pool. */
    public void pack(int worker, long to, Matrix b) {
        assert b.stride() == key.stride && b.transposed() == key.transposed && b.dtype() == key.dtype : b + ", " + key;
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
