package org.isobar.backend.cpu.onednn;

import java.util.ArrayList;
import java.util.List;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/** A matrix product compiled by oneDNN. */
final class OneDnnMatmul implements Matmul {
    private static final int LEFT = 0;
    private static final int RIGHT = 1;
    private static final int RESULT = 2;
    private static final int BIAS = 3;

    private final Key key;
    private final Primitive primitive;

    /**
     * Compiles the product.
     *
     * @param b layout of the right operand
     */
    OneDnnMatmul(Key key, memory.desc b, engine cpu, int workers) {
        this.key = key;
        Packing.Key right = key.right();
        OneDnn.useThisThreadAlone();
        try (memory.desc a = OneDnn.plain(right.dtype(), key.m(), right.k(), key.aStride(), key.aTransposed());
            memory.desc c = OneDnn.plain(right.result(), key.m(), right.n(), key.cStride(), false);
            memory.desc bias = OneDnn.plain(right.result(), 1, right.n(), right.n(), false);
            primitive_attr attributes = OneDnn.attributes();
            post_ops after = new post_ops()) {
            if (key.finish() == Finish.ADD) {
                after.append_sum();
                attributes.set_post_ops(after);
            }
            List<Primitive.Argument> arguments = new ArrayList<>(List.of(new Primitive.Argument(OneDnn.LEFT, a),
                new Primitive.Argument(OneDnn.RIGHT, b), new Primitive.Argument(OneDnn.RESULT, c)));
            if (key.finish() == Finish.ADD_BIAS) {
                arguments.add(new Primitive.Argument(OneDnn.BIAS, bias));
            }
            try (matmul.primitive_desc product = key.finish() == Finish.ADD_BIAS
                ? new matmul.primitive_desc(cpu, a, b, bias, c, attributes, false)
                : new matmul.primitive_desc(cpu, a, b, c, attributes, false)) {
                primitive = new Primitive(new matmul(product), product, cpu, workers,
                    arguments.toArray(Primitive.Argument[]::new));
            }
        }
    }

    @Override
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        assert key.fits(c, a) : c + ", " + a + ", " + key;
        assert bias != NO_BIAS || key.finish() != Finish.ADD_BIAS : key;
        Primitive.Call call = primitive.call(worker);
        call.set(LEFT, a.address());
        call.set(RIGHT, right);
        call.set(RESULT, c.address());
        if (key.finish() == Finish.ADD_BIAS) {
            call.set(BIAS, bias);
        }
        call.run();
    }

    @Override
    public void close() {
        primitive.close();
    }
}
