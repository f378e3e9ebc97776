package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.tensor.Tensor;

/**
 * GELU(x) = x Phi(x) and its derivative Phi(x) + x phi(x), with distribution function Phi and density phi of the normal
 * distribution. Both come from one exponential: 1 - Phi(x) is phi(x) times {@link VectorMath#millsRatio}.
 */
final class CpuGelu {
    private static final float INVERSE_SQRT_2_PI = 0.3989423f;

    private final WorkerPool pool;

    CpuGelu(WorkerPool pool) {
        this.pool = pool;
    }

    void gelu(Tensor y, Tensor x) {
        MemorySegment to = Segments.of(y);
        MemorySegment from = Segments.of(x);
        Chunks.run(pool, x.elements(), Chunks.ELEMENTS, (first, end) ->
            forward(slice(to, first, end), slice(from, first, end)));
    }

    void geluBackward(Tensor dx, Tensor y, Tensor dy, Tensor x) {
        MemorySegment dxs = Segments.of(dx);
        MemorySegment ys = Segments.of(y);
        MemorySegment dys = Segments.of(dy);
        MemorySegment xs = Segments.of(x);
        Chunks.run(pool, x.elements(), Chunks.ELEMENTS, (first, end) -> backward(slice(dxs, first, end),
            slice(ys, first, end), slice(dys, first, end), slice(xs, first, end)));
    }

    /** y = GELU(x) on the thread that asks for it. */
    static void forward(MemorySegment y, MemorySegment x) {
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector value = load(x, i);
            store(y, i, value.mul(cumulative(value, density(value))));
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
            FloatVector density = density(value);
            FloatVector cumulative = cumulative(value, density);
            FloatVector slope = value.fma(density, cumulative);
            store(dx, i, load(dy, i).mul(slope));
            store(y, i, value.mul(cumulative));
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
