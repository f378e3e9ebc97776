package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.generated.GeluCode;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.VectorMath;

/**
 * GELU(x) = x Phi(x) = max(x, 0) - |x| (1 - Phi(|x|)) and its derivative Phi(x) + x phi(x) in F32, where Phi and phi
 * are the distribution function and density of the standard normal distribution. Both use one exponential, see {@link
 * VectorMath#tailArgument}.
 *
 * <p>After a formula of this length, HotSpot reaches NodeCountInliningCutoff and inlines only methods that the JDK
 * forces it to inline. A call to a method of this project would then not be inlined, and each vector passed to it would
 * be allocated as an object. Therefore the loops load first, compute the power of two early, and store with the
 * vector's own method, as {@link Lanes#store} does. Check any change with {@code
 * -XX:CompileCommand=PrintInlining}.
 */
final class VectorGelu {
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private VectorGelu() { }

    /** Computes {@code y = GELU(x)}. {@code y} may be {@code x}. */
    static void forward(MemorySegment y, MemorySegment x) {
        forward(y, x, GeluCode.forward(y, x));
    }

    /** Computes the elements from {@code first} on. */
    static void forward(MemorySegment y, MemorySegment x, int first) {
        int n = Lanes.count(x);
        int i = first;
        for (; i <= n - WIDTH; i += WIDTH) {
            gelu(load(x, i)).reinterpretAsShorts().intoMemorySegment(y, (long) i * Float.BYTES, ORDER);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, gelu(load(x, i, rest)), rest);
        }
    }

    private static FloatVector gelu(FloatVector x) {
        FloatVector a = VectorMath.tailArgument(x);
        FloatVector exponent = VectorMath.bellExponent(a);
        FloatVector power = VectorMath.bellPower(exponent);
        FloatVector q = VectorMath.tailQuotient(a);
        FloatVector remainder = VectorMath.tailRemainder(a, q);
        FloatVector excess = VectorMath.bellExcess(a, exponent, remainder);
        FloatVector tail = VectorMath.normalTail(q, remainder, excess).mul(power);
        return a.fma(tail, x.blend(0, x.compare(VectorOperators.LT, 0)));
    }

    /** Computes {@code dx = dy GELU'(x)} and {@code y = GELU(x)}. The results may overwrite dy and x. */
    static void backward(MemorySegment dx, MemorySegment y, MemorySegment dy, MemorySegment x) {
        backward(dx, y, dy, x, GeluCode.backward(dx, y, dy, x));
    }

    /** Computes the elements from {@code first} on. */
    static void backward(MemorySegment dx, MemorySegment y, MemorySegment dy, MemorySegment x, int first) {
        int n = Lanes.count(x);
        int i = first;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector value = load(x, i);
            FloatVector upstream = load(dy, i);
            FloatVector a = VectorMath.tailArgument(value);
            FloatVector exponent = VectorMath.bellExponent(a);
            FloatVector power = VectorMath.bellPower(exponent);
            FloatVector q = VectorMath.tailQuotient(a);
            FloatVector remainder = VectorMath.tailRemainder(a, q);
            FloatVector excess = VectorMath.bellExcess(a, exponent, remainder);
            FloatVector tail = VectorMath.normalTail(q, remainder, excess).mul(power);
            VectorMask<Float> negative = value.compare(VectorOperators.LT, 0);
            FloatVector peak = FloatVector.broadcast(Lanes.F32, VectorMath.FOUR_DENSITIES_AT_0);
            FloatVector slope = excess.fma(peak, peak).mul(power)
                .fma(value, FloatVector.broadcast(Lanes.F32, 1).sub(tail).blend(tail, negative));
            a.fma(tail, value.blend(0, negative)).reinterpretAsShorts()
                .intoMemorySegment(y, (long) i * Float.BYTES, ORDER);
            upstream.mul(slope).reinterpretAsShorts().intoMemorySegment(dx, (long) i * Float.BYTES, ORDER);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector value = load(x, i, rest);
            FloatVector slope = slope(value).mul(load(dy, i, rest));
            store(y, i, gelu(value), rest);
            store(dx, i, slope, rest);
        }
    }

    /** Returns GELU'(x), with the formula that {@link #backward} has inline in its loop. */
    private static FloatVector slope(FloatVector x) {
        FloatVector a = VectorMath.tailArgument(x);
        FloatVector exponent = VectorMath.bellExponent(a);
        FloatVector power = VectorMath.bellPower(exponent);
        FloatVector q = VectorMath.tailQuotient(a);
        FloatVector remainder = VectorMath.tailRemainder(a, q);
        FloatVector excess = VectorMath.bellExcess(a, exponent, remainder);
        FloatVector tail = VectorMath.normalTail(q, remainder, excess).mul(power);
        FloatVector peak = FloatVector.broadcast(Lanes.F32, VectorMath.FOUR_DENSITIES_AT_0);
        return excess.fma(peak, peak).mul(power)
            .fma(x, FloatVector.broadcast(Lanes.F32, 1).sub(tail).blend(tail, x.compare(VectorOperators.LT, 0)));
    }
}
