package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

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
    /** Below, the exponential is zero, and a square that overflows has no rounding error. */
    private static final float DENSITY_ENDS = -100;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private final WorkerPool pool;
    private final Workspace workspace;

    CpuGelu(WorkerPool pool, Workspace workspace) {
        this.pool = pool;
        this.workspace = workspace;
    }

    void gelu(Tensor y, Tensor x) {
        Floats ys = Floats.of(y);
        Floats xs = Floats.of(x);
        Shares scratch = Shares.of(workspace, pool, 1, xs.scratch(xs.chunk()));
        Chunks.run(pool, x.elements(), xs.chunk(), (worker, from, to) -> {
            MemorySegment row = scratch.row(worker, 0);
            MemorySegment input = xs.read(row, from, to);
            MemorySegment output = ys.room(row, from, to);
            forward(output, input);
            ys.keep(output, from, to);
        });
    }

    /** {@code dx = dy GELU'(x)}, {@code y = GELU(x)}; {@code dx} may be {@code dy}. */
    void geluBackward(Tensor dx, Tensor y, Tensor dy, Tensor x) {
        Floats dxs = Floats.of(dx);
        Floats ys = Floats.of(y);
        Floats dys = Floats.of(dy);
        Floats xs = Floats.of(x);
        Shares scratch = Shares.of(workspace, pool, 2, xs.scratch(xs.chunk()));
        Chunks.run(pool, x.elements(), xs.chunk(), (worker, from, to) -> {
            MemorySegment values = scratch.row(worker, 0);
            MemorySegment gradients = scratch.row(worker, 1);
            MemorySegment input = xs.read(values, from, to);
            MemorySegment upstream = dys.read(gradients, from, to);
            MemorySegment output = ys.room(values, from, to);
            MemorySegment gradient = dxs.room(gradients, from, to);
            backward(gradient, output, upstream, input);
            dxs.keep(gradient, from, to);
            ys.keep(output, from, to);
        });
    }

    /** y = GELU(x), in floats, on the thread that asks for it; {@code y} may be {@code x}. */
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

    /**
     * phi(x) = e^(-x^2 / 2) / sqrt(2 pi). A fused product finds what is lost in rounding the square, which for large x
     * would be many units in the last place of the exponential.
     */
    static FloatVector density(FloatVector x) {
        FloatVector half = x.mul(-0.5f);
        FloatVector square = half.mul(x);
        FloatVector lost = half.fma(x, square.neg()).blend(0, square.compare(VectorOperators.LT, DENSITY_ENDS));
        FloatVector density = VectorMath.exp(square).mul(INVERSE_SQRT_2_PI);
        return density.fma(lost, density);
    }

    /** Phi(x), the smaller tail first, so that it does not cancel. */
    static FloatVector cumulative(FloatVector x, FloatVector density) {
        FloatVector tail = density.mul(VectorMath.millsRatio(x.abs()));
        return FloatVector.broadcast(Lanes.F32, 1).sub(tail).blend(tail, x.compare(VectorOperators.LT, 0));
    }
}
