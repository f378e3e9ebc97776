package org.isobar.backend.cpu;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.isobar.device.Write;

/**
 * A matrix product that oneDNN has compiled for one shape and one layout of its operands, the right one packed. Sums
 * are accumulated in single precision.
 */
final class Matmul implements AutoCloseable {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;

    private final Key key;
    private final Primitive primitive;

    /**
     * What a product is compiled for.
     *
     * @param right       the right operand
     * @param m           rows of the left operand
     * @param aStride     elements from one of its stored rows to the next
     * @param aTransposed whether the stored rows are its columns
     * @param cStride     elements from one row of the result to the next
     * @param write       what becomes of what the result was before
     */
    record Key(Packing.Key right, long m, long aStride, boolean aTransposed, long cStride, Write write) { }

    /** Compiles it. */
    Matmul(Key key, Packing packing, engine cpu, int workers) {
        this.key = key;
        Packing.Key right = key.right;
        OneDnn.useThisThreadAlone();
        try (memory.desc a = OneDnn.plain(right.dtype(), key.m, right.k(), key.aStride, key.aTransposed);
            memory.desc c = OneDnn.plain(right.result(), key.m, right.n(), key.cStride, false);
            primitive_attr attributes = OneDnn.attributes();
            post_ops after = new post_ops()) {
            if (key.write == Write.ADD) {
                after.append_sum();
                attributes.set_post_ops(after);
            }
            try (matmul.primitive_desc product = new matmul.primitive_desc(cpu, a, packing.description(), c,
                attributes, false)) {
                primitive = new Primitive(new matmul(product), product, cpu, workers,
                    new Primitive.Argument(OneDnn.LEFT, a), new Primitive.Argument(OneDnn.RIGHT, packing.description()),
                    new Primitive.Argument(OneDnn.RESULT, c));
            }
        }
    }

    /**
     * Computes one, on the calling thread, which is the pool's {@code worker}.
     *
     * @param c      (m, n)
     * @param a      (m, k)
     * @param packed address of b, (k, n), packed
     */
    void run(int worker, Matrix c, Matrix a, long packed) {
        assert a.stride() == key.aStride && a.transposed() == key.aTransposed : a + ", " + key;
        assert c.stride() == key.cStride && !c.transposed() : c + ", " + key;
        Primitive.Call call = primitive.call(worker);
        call.set(LEFT, a.address());
        call.set(RIGHT, packed);
        call.set(RESULT, c.address());
        call.run();
    }

    @Override
    public void close() {
        primitive.close();
    }
}
