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
 * A matrix product compiled by oneDNN for one shape and one layout of its operands. Sums are accumulated in single
 * precision and rounded once, after the bias or the old result has been added.
 */
public final class Matmul implements AutoCloseable {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;
    private static final int BIAS = 3;

    private final Key key;
    private final Primitive primitive;

    /**
     * The parameters that a product is compiled for.
     *
     * @param right       the right operand
     * @param form        layout of the right operand
     * @param m           rows of the left operand
     * @param aStride     elements from one stored row of the left operand to the next
     * @param aTransposed whether the stored rows are its columns
     * @param cStride     elements from one row of the result to the next
     * @param finish      how the product is written to the result
     */
    record Key(Packing.Key right, Form form, long m, long aStride, boolean aTransposed, long cStride, Finish finish) { }

    /** Layout of the right operand. */
    enum Form {
        /** Packed by {@link Packing}. */
        PACKED,
        /** Not packed beforehand; the product packs what it needs. */
        PLAIN
    }

    /** How the product is written to the result. */
    public enum Finish {
        /** The product replaces the result. */
        OVERWRITE,
        /** The product is added to the result. */
        ADD,
        /** A bias of the result's type is added to each row of the product; the sum replaces the result. */
        ADD_BIAS;

        public static Finish of(WriteMode write) {
            return switch (write) {
                case OVERWRITE -> OVERWRITE;
                case ADD -> ADD;
            };
        }
    }

    /**
     * Compiles the product.
     *
     * @param b layout of the right operand
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
     * Computes one product on the calling thread.
     *
     * @param worker index of the calling thread in the pool
     * @param c      (m, n)
     * @param a      (m, k)
     * @param right  address of b, (k, n), in the layout that the product was compiled for
     */
    public void run(int worker, Matrix c, Matrix a, long right) {
        assert key.finish != Finish.ADD_BIAS : key;
        prepare(worker, c, a, right).run();
    }

    /**
     * Computes one product like {@link #run(int, Matrix, Matrix, long)}. {@code bias} is the address of a bias (n),
     * used if the product adds one.
     */
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
