package org.isobar.backend.cpu.onednn;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.tensor.DType;

/**
 * Several products of equal shape, {@code c = factor a b} for each matrix of three stacks, compiled by oneDNN as one
 * primitive. One call has one start-up cost, and operands are not packed beforehand. Sums are accumulated in single
 * precision and rounded once, after the multiplication by the factor.
 */
public final class StackedMatmul implements AutoCloseable {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;

    private final Key key;
    private final Primitive primitive;

    /**
     * Number and extents of the products.
     *
     * @param count number of products
     * @param m     rows of a left operand
     * @param n     columns of a right operand
     * @param k     columns of a left operand and rows of a right one
     */
    public record Extents(long count, long m, long n, long k) { }

    /** Layout of a stack, wherever it is in memory. */
    record Layout(DType dtype, long apart, long stride, boolean transposed) {
        static Layout of(MatrixStack stack) {
            Matrix first = stack.first();
            return new Layout(first.dtype(), stack.apart(), first.stride(), first.transposed());
        }

        /** Describes {@code count} matrices (rows, columns). */
        memory.desc describe(long count, long rows, long columns) {
            return OneDnn.strided(dtype, new long[] {count, rows, columns},
                transposed ? new long[] {apart, 1, stride} : new long[] {apart, stride, 1});
        }
    }

    /** The parameters that the products are compiled for. */
    record Key(Extents extents, Layout a, Layout b, Layout c, float factor) { }

    /** Compiles the products. */
    StackedMatmul(Key key, engine cpu, int workers) {
        this.key = key;
        OneDnn.useThisThreadAlone();
        Extents extents = key.extents;
        try (memory.desc a = key.a.describe(extents.count, extents.m, extents.k);
            memory.desc b = key.b.describe(extents.count, extents.k, extents.n);
            memory.desc c = key.c.describe(extents.count, extents.m, extents.n);
            primitive_attr attributes = OneDnn.attributes();
            post_ops after = new post_ops()) {
            if (key.factor != 1) {
                after.append_eltwise(dnnl.algorithm.eltwise_linear, key.factor, 0);
                attributes.set_post_ops(after);
            }
            try (matmul.primitive_desc product = new matmul.primitive_desc(cpu, a, b, c, attributes, false)) {
                primitive = new Primitive(new matmul(product), product, cpu, workers,
                    new Primitive.Argument(OneDnn.LEFT, a), new Primitive.Argument(OneDnn.RIGHT, b),
                    new Primitive.Argument(OneDnn.RESULT, c));
            }
        }
    }

    /**
     * Computes the products on the calling thread.
     *
     * @param worker index of the calling thread in the pool
     * @param c      (m, n)
     * @param a      (m, k)
     * @param b      (k, n)
     */
    public void run(int worker, MatrixStack c, MatrixStack a, MatrixStack b) {
        assert Layout.of(c).equals(key.c) && Layout.of(a).equals(key.a) && Layout.of(b).equals(key.b)
            : c + ", " + a + ", " + b + ", " + key;
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
