package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Machine code of short loops over arrays in single precision. Each method computes the elements of the whole vectors,
 * with the bits of the loop in Java that it replaces, and returns their number.
 */
public final class ArrayCode {
    private static final MachineCode ADD = GeneratedCode.loop(ArrayCode::add);
    private static final MachineCode ADD_SCALED = GeneratedCode.loop(ArrayCode::addScaled);
    private static final MachineCode SCALE = GeneratedCode.loop(ArrayCode::scale);
    private static final MachineCode SCALED_DIFFERENCE = GeneratedCode.loop(ArrayCode::scaledDifference);
    private static final MachineCode NORMALIZE = GeneratedCode.loop(ArrayCode::normalize);

    // General registers: the arguments.
    private static final int TO = Assembler.RDI;
    private static final int X = Assembler.RSI;
    private static final int Y = Assembler.RDX;
    private static final int VECTORS = Assembler.RCX;
    private static final int FACTOR_BITS = Assembler.R8;

    // Vector registers.
    private static final int VALUE = 0;
    private static final int FACTOR = 1;

    private ArrayCode() { }

    /** Computes {@code y += x}. */
    public static int add(MemorySegment y, MemorySegment x) {
        return run(ADD, y, x, y, 0);
    }

    /** Computes {@code y = x + factor * term}. */
    public static int addScaled(MemorySegment y, MemorySegment x, MemorySegment term, float factor) {
        return run(ADD_SCALED, y, x, term, factor);
    }

    /** Computes {@code y = factor * x}. */
    public static int scale(MemorySegment y, MemorySegment x, float factor) {
        return run(SCALE, y, x, x, factor);
    }

    /** Computes {@code z = factor * (x - y)}. */
    public static int scaledDifference(MemorySegment z, MemorySegment x, MemorySegment y, float factor) {
        return run(SCALED_DIFFERENCE, z, x, y, factor);
    }

    /**
     * Computes {@code y = (x - mean) / spread} for a part of {@code y}, without a segment for it.
     *
     * @param y     native memory, as {@code x}
     * @param from  offset of the first number in {@code y} in bytes, not necessarily aligned
     * @param count of numbers
     * @throws IndexOutOfBoundsException if they are not within {@code y}, or {@code x} has fewer
     */
    public static int normalize(MemorySegment y, long from, MemorySegment x, int count, float mean, float spread) {
        assert y.isNative() && x.isNative() : y + ", " + x;
        Objects.checkFromIndexSize(from, (long) count * Float.BYTES, y.byteSize());
        GeneratedCode.requireBytes(x, (long) count * Float.BYTES);
        int vectors = GeneratedCode.hasLoops(DType.F32) ? count / Lanes.WIDTH : 0;
        if (vectors > 0) {
            NORMALIZE.run(y.address() + from, x.address(), vectors, Float.floatToRawIntBits(mean),
                Float.floatToRawIntBits(spread), 0);
        }
        return vectors * Lanes.WIDTH;
    }

    private static int run(MachineCode code, MemorySegment to, MemorySegment x, MemorySegment y, float factor) {
        int vectors = GeneratedCode.vectors(to, x, y);
        if (vectors > 0) {
            code.run(to.address(), x.address(), y.address(), vectors, Float.floatToRawIntBits(factor), 0);
        }
        return vectors * Lanes.WIDTH;
    }

    private static void add(Assembler to) {
        to.forEachVector(VECTORS, () -> {
            to.load(VALUE, TO, 0);
            to.apply(Operation.ADD, VALUE, VALUE, X, 0);
            to.store(TO, 0, VALUE);
        }, TO, X);
    }

    private static void addScaled(Assembler to) {
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.forEachVector(VECTORS, () -> {
            to.load(VALUE, Y, 0);
            to.apply(Operation.MULTIPLY_ADD, VALUE, FACTOR, X, 0);
            to.store(TO, 0, VALUE);
        }, TO, X, Y);
    }

    private static void scale(Assembler to) {
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.forEachVector(VECTORS, () -> {
            to.apply(Operation.MULTIPLY, VALUE, FACTOR, X, 0);
            to.store(TO, 0, VALUE);
        }, TO, X);
    }

    private static void scaledDifference(Assembler to) {
        to.broadcastBits(FACTOR, FACTOR_BITS);
        to.forEachVector(VECTORS, () -> {
            to.load(VALUE, X, 0);
            to.apply(Operation.SUBTRACT, VALUE, VALUE, Y, 0);
            to.apply(Operation.MULTIPLY, VALUE, VALUE, FACTOR);
            to.store(TO, 0, VALUE);
        }, TO, X, Y);
    }

    private static void normalize(Assembler to) {
        int mean = 1;
        int spread = 2;
        to.broadcastBits(mean, Assembler.RCX);
        to.broadcastBits(spread, Assembler.R8);
        to.forEachVector(Assembler.RDX, () -> {
            to.load(VALUE, X, 0);
            to.apply(Operation.SUBTRACT, VALUE, VALUE, mean);
            to.apply(Operation.DIVIDE, VALUE, VALUE, spread);
            to.store(TO, 0, VALUE);
        }, TO, X);
    }
}
