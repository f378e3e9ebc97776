package org.isobar.backend.cpu.onednn;

import java.util.ArrayList;
import java.util.List;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.isobar.device.ops.WriteMode;

/**
 * A matrix product that oneDNN has compiled for one shape and one layout of its operands. Sums are accumulated in
 * single precision and rounded once, when everything is added.
 */
public final class Matmul implements AutoCloseable {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;
    private static final int BIAS = 3;

    private final Key key;
    private final Primitive primitive;

    /**
     * What a product is compiled for.
     *
     * @param right       the right operand
     * @param form        how it is given
     * @param m           rows of the left operand
     * @param aStride     elements from one of its stored rows to the next
     * @param aTransposed whether the stored rows are its columns
     * @param cStride     elements from one row of the result to the next
     * @param finish      what becomes of the product
     */
    record Key(Packing.Key right, Form form, long m, long aStride, boolean aTransposed, long cStride, Finish finish) { }

    /** How the right operand is given. */
    enum Form {
        /** As its {@link Packing} has laid it out. */
        PACKED,
        /** As it lies, for the product to pack what it needs. */
        PLAIN
    }

    /** What becomes of the product. */
    public enum Finish {
        /** It replaces the result. */
        OVERWRITE,
        /** It is added to the result. */
        ADD,
        /** A bias, of the result's type, is added to each of its rows; the sum replaces the result. */
        ADD_BIAS;

        public static Finish of(WriteMode write) {
            return switch (write) {
                case OVERWRITE -> OVERWRITE;
                case ADD -> ADD;
            };
        }
    }

    /**
     * Compiles it.
     *
     * @param b how the right operand lies
     */
    Matmul(Key key, memory.desc b, engine cpu, int workers) {
        this.key = key;
        Packing.Key right = key.right;
        OneDnn.useThisThreadAlone();
        try (memory.desc a = OneDnn.plain(right.dtype(), key.m, right.k(), key.aStride, key.aTransposed);
            memory.desc c = OneDnn.plain(right.result(), key.m, right.n(), key.cStride, false);
            memory.desc bias = OneDnn.plain(right.result(), 1, right.n(), right.n(), false);
            primitive_attr attributes = OneDnn.attributes();
            post_ops after = new post_ops()) {
            if (key.finish == Finish.ADD) {
                after.append_sum();
                attributes.set_post_ops(after);
            }
            List<Primitive.Argument> arguments = new ArrayList<>(List.of(new Primitive.Argument(OneDnn.LEFT, a),
                new Primitive.Argument(OneDnn.RIGHT, b), new Primitive.Argument(OneDnn.RESULT, c)));
            if (key.finish == Finish.ADD_BIAS) {
                arguments.add(new Primitive.Argument(OneDnn.BIAS, bias));
            }
            try (matmul.primitive_desc product = key.finish == Finish.ADD_BIAS
                ? new matmul.primitive_desc(cpu, a, b, bias, c, attributes, false)
                : new matmul.primitive_desc(cpu, a, b, c, attributes, false)) {
                primitive = new Primitive(new matmul(product), product, cpu, workers,
                    arguments.toArray(Primitive.Argument[]::new));
            }
        }
    }

    /**
     * Computes one, on the calling thread, which is the pool's {@code worker}.
     *
     * @param c     (m, n)
     * @param a     (m, k)
     * @param right address of b, (k, n), in the form it is given
     */
    public void run(int worker, Matrix c, Matrix a, long right) {
        assert key.finish != Finish.ADD_BIAS : key;
        prepare(worker, c, a, right).run();
    }

    /** {@link #run(int, Matrix, Matrix, long)}, with the address of a bias (n), used if one is added. */
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        Primitive.Call call = prepare(worker, c, a, right);
        if (key.finish == Finish.ADD_BIAS) {
            call.set(BIAS, bias);
        }
        call.run();
    }

    private Primitive.Call prepare(int worker, Matrix c, Matrix a, long right) {
        assert a.stride() == key.aStride && a.transposed() == key.aTransposed : a + ", " + key;
        assert c.stride() == key.cStride && !c.transposed() : c + ", " + key;
        Primitive.Call call = primitive.call(worker);
        call.set(LEFT, a.address());
        call.set(RIGHT, right);
        call.set(RESULT, c.address());
        return call;
    }

    @Override
    public void close() {
        primitive.close();
    }
}
