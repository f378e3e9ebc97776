package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * GELU(x) = x Phi(x) and its derivative Phi(x) + x phi(x), with distribution function Phi and density phi of the normal
 * distribution. Both come from one exponential: 1 - Phi(x) is phi(x) times {@link VectorMath#millsRatio}.
 *
 * <p>The loops load first and store by the vector's own method. Behind so long a formula HotSpot inlines nothing but
 * what its own library forces it to (NodeCountInliningCutoff), so {@link Lanes#store} would be a call, and each vector
 * an object made to be passed to it.
 */
final class CpuGelu {
    private static final float INVERSE_SQRT_2_PI = 0.3989423f;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private final WorkerPool pool;

    CpuGelu(WorkerPool pool) {
        this.pool = pool;
    }

    void gelu(Tensor y, Tensor x) {
        MemorySegment to = HostStorage.of(y);
        MemorySegment from = HostStorage.of(x);
        Chunks.run(pool, x.elements(), Chunks.ELEMENTS, (first, end) ->
            forward(slice(to, first, end), slice(from, first, end)));
    }

    /** {@code dx = dy GELU'(x)}, {@code y = GELU(x)}; {@code dx} may be {@code dy}. */
    void geluBackward(Tensor dx, Tensor y, Tensor dy, Tensor x) {
        MemorySegment dxs = HostStorage.of(dx);
        MemorySegment ys = HostStorage.of(y);
        MemorySegment dys = HostStorage.of(dy);
        MemorySegment xs = HostStorage.of(x);
        Chunks.run(pool, x.elements(), Chunks.ELEMENTS, (first, end) -> backward(slice(dxs, first, end),
            slice(ys, first, end), slice(dys, first, end), slice(xs, first, end)));
    }

    /** y = GELU(x) on the thread that asks for it. */
    static void forward(MemorySegment y, MemorySegment x) {
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector value = load(x, i);
            value.mul(cumulative(value, density(value))).intoMemorySegment(y, (long) i * Float.BYTES, ORDER);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector value = load(x, i, rest);
            store(y, i, value.mul(cumulative(value, density(value))), rest);
        }
    }

    private static void backward(MemorySegment dx, MemorySegment y, MemorySegment dy, MemorySegment x) {
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector value = load(x, i);
            FloatVector upstream = load(dy, i);
            FloatVector density = density(value);
            FloatVector cumulative = cumulative(value, density);
            FloatVector slope = value.fma(density, cumulative);
            upstream.mul(slope).intoMemorySegment(dx, (long) i * Float.BYTES, ORDER);
            value.mul(cumulative).intoMemorySegment(y, (long) i * Float.BYTES, ORDER);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector value = load(x, i, rest);
            FloatVector density = density(value);
            FloatVector cumulative = cumulative(value, density);
            FloatVector slope = value.fma(density, cumulative);
            store(dx, i, load(dy, i, rest).mul(slope), rest);
            store(y, i, value.mul(cumulative), rest);
        }
    }

    /** phi(x) = e^(-x^2 / 2) / sqrt(2 pi). */
    private static FloatVector density(FloatVector x) {
        return VectorMath.exp(x.mul(x).mul(-0.5f)).mul(INVERSE_SQRT_2_PI);
    }

    /** Phi(x), the smaller tail first, so that it does not cancel. */
    private static FloatVector cumulative(FloatVector x, FloatVector density) {
        FloatVector tail = density.mul(VectorMath.millsRatio(x.abs()));
        return FloatVector.broadcast(Lanes.F32, 1).sub(tail).blend(tail, x.compare(VectorOperators.LT, 0));
    }
}
