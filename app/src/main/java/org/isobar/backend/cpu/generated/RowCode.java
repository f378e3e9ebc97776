package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;

/**
 * Machine code of loops over rows of whole vectors in single precision, with the bits of the loops in {@code
 * AttentionElements}. Memory starts with the first row. Strides count elements.
 */
public final class RowCode {
    private static final MachineCode DOT = GeneratedCode.loop(RowCode::dot);
    private static final MachineCode SCALE = GeneratedCode.loop(RowCode::scale);

    private RowCode() { }

    /** Whether code is available, and rows of so many numbers consist of whole vectors. */
    public static boolean suits(int width) {
        return GeneratedCode.isAvailable() && width > 0 && width % Lanes.WIDTH == 0;
    }

    /** Computes the dot product of each row of x and the same row of y, which have the same stride. */
    public static void dot(MemorySegment results, MemorySegment x, MemorySegment y, long stride, int rows, int width) {
        assert suits(width) : width;
        GeneratedCode.requireBytes(results, (long) rows * Float.BYTES);
        GeneratedCode.requireBytes(x, bytes(stride, rows, width));
        GeneratedCode.requireBytes(y, bytes(stride, rows, width));
        if (rows > 0) {
            DOT.run(x.address(), y.address(), gap(stride, width), rows, width / Lanes.WIDTH, results.address());
        }
    }

    /** Computes {@code to = factor from} for each row, which has a factor of its own. */
    public static void scale(MemorySegment to, long toStride, MemorySegment from, long fromStride,
        MemorySegment factors, long factorStride, int rows, int width) {
        assert suits(width) : width;
        GeneratedCode.requireBytes(to, bytes(toStride, rows, width));
        GeneratedCode.requireBytes(from, bytes(fromStride, rows, width));
        GeneratedCode.requireBytes(factors, bytes(factorStride, rows, 1));
        if (rows > 0) {
            SCALE.run(to.address(), gap(toStride, width), from.address(), gap(fromStride, width), factors.address(),
                factorStride * Float.BYTES, rows, width / Lanes.WIDTH, 0, 0);
        }
    }

    private static long bytes(long stride, int rows, int width) {
        return ((rows - 1) * stride + width) * Float.BYTES;
    }

    /** Bytes from the end of a row to the next. */
    private static long gap(long stride, int width) {
        return (stride - width) * Float.BYTES;
    }

    private static void dot(Assembler to) {
        int x = Assembler.RDI;
        int y = Assembler.RSI;
        int gap = Assembler.RDX;
        int rows = Assembler.RCX;
        int width = Assembler.R8;
        int results = Assembler.R9;
        int vectors = Assembler.RAX;
        int sum = 0;
        int value = 1;
        int row = to.position();
        to.zero(sum);
        to.copy(vectors, width);
        to.forEachVector(vectors, () -> {
            to.load(value, x, 0);
            to.apply(Operation.ADD_PRODUCT, sum, value, y, 0);
        }, x, y);
        to.reduce(Operation.ADD, sum, value);
        to.storeFloat(results, 0, sum);
        to.increase(results, Float.BYTES);
        to.add64(x, gap);
        to.add64(y, gap);
        to.repeat(rows, row);
    }

    private static void scale(Assembler to) {
        int result = Assembler.RDI;
        int resultGap = Assembler.RSI;
        int from = Assembler.RDX;
        int gap = Assembler.RCX;
        int factors = Assembler.R8;
        int step = Assembler.R9;
        int rows = Assembler.R10;
        int vectors = Assembler.RAX;
        int factor = 0;
        int value = 1;
        to.load64(rows, Assembler.RSP, Assembler.SEVENTH);
        int row = to.position();
        to.broadcast(factor, factors, 0);
        to.load64(vectors, Assembler.RSP, Assembler.SEVENTH + Long.BYTES);
        to.forEachVector(vectors, () -> {
            to.apply(Operation.MULTIPLY, value, factor, from, 0);
            to.store(result, 0, value);
        }, result, from);
        to.add64(result, resultGap);
        to.add64(from, gap);
        to.add64(factors, step);
        to.repeat(rows, row);
    }
}
