package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Machine code of loops over rows of whole vectors in F32 or BF16, with the bits of the loops in {@code
 * AttentionElements}, except that BF16 results below the least normal number are zero.
 */
public final class RowCode {
    private static final MachineCode DOT = GeneratedCode.loop(to -> dot(to, DType.F32));
    private static final MachineCode DOT_HALVES = GeneratedCode.loop(DType.BF16, to -> dot(to, DType.BF16));
    private static final MachineCode SCALE = GeneratedCode.loop(to -> scale(to, DType.F32));
    private static final MachineCode SCALE_TO_HALVES = GeneratedCode.loop(DType.BF16, to -> scale(to, DType.BF16));

    private RowCode() { }

    /** Whether there is code for this type, and rows of so many numbers consist of whole vectors. */
    public static boolean suits(DType dtype, int width) {
        return GeneratedCode.hasLoops(dtype) && width > 0 && width % Lanes.WIDTH == 0;
    }

    /**
     * Rows of elements.
     *
     * @param memory starts with the first row
     * @param stride elements from one row to the next
     */
    public record Rows(MemorySegment memory, DType dtype, int stride) {
        private void require(int rows, int width) {
            GeneratedCode.requireBytes(memory, ((rows - 1L) * stride + width) * dtype.bytes());
        }

        /** Bytes from the end of a row to the next. */
        private long gap(int width) {
            return (long) (stride - width) * dtype.bytes();
        }
    }

    /** Computes the dot product of each row of x and the same row of y, which have the same type and stride. */
    public static void dot(MemorySegment results, Rows x, Rows y, int rows, int width) {
        assert suits(x.dtype, width) && x.dtype == y.dtype && x.stride == y.stride : x + ", " + y + ", " + width;
        GeneratedCode.requireBytes(results, (long) rows * Float.BYTES);
        x.require(rows, width);
        y.require(rows, width);
        if (rows > 0) {
            (x.dtype == DType.F32 ? DOT : DOT_HALVES).run(x.memory.address(), y.memory.address(), x.gap(width), rows,
                width / Lanes.WIDTH, results.address());
        }
    }

    /** Computes {@code to = factor from} for each row, which has a factor of its own. The others are F32. */
    public static void scale(Rows to, Rows from, Rows factors, int rows, int width) {
        assert suits(to.dtype, width) && from.dtype == DType.F32 && factors.dtype == DType.F32
            : to + ", " + from + ", " + factors + ", " + width;
        to.require(rows, width);
        from.require(rows, width);
        factors.require(rows, 1);
        if (rows > 0) {
            (to.dtype == DType.F32 ? SCALE : SCALE_TO_HALVES).run(to.memory.address(), to.gap(width),
                from.memory.address(), from.gap(width), factors.memory.address(),
                (long) factors.stride * Float.BYTES, rows, width / Lanes.WIDTH, 0, 0);
        }
    }

    private static void dot(Assembler to, DType dtype) {
        int x = Assembler.RDI;
        int y = Assembler.RSI;
        int gap = Assembler.RDX;
        int rows = Assembler.RCX;
        int width = Assembler.R8;
        int results = Assembler.R9;
        int vectors = Assembler.RAX;
        int sum = 0;
        int value = 1;
        int other = 2;
        int row = to.position();
        to.zero(sum);
        to.copy(vectors, width);
        int step = Lanes.WIDTH * dtype.bytes();
        int loop = to.position();
        if (dtype == DType.F32) {
            to.load(value, x, 0);
            to.apply(Operation.ADD_PRODUCT, sum, value, y, 0);
        } else {
            to.loadHalves(value, 0, x, 0);
            to.loadHalves(other, 0, y, 0);
            to.apply(Operation.ADD_PRODUCT, sum, value, other);
        }
        to.increase(x, step);
        to.increase(y, step);
        to.repeat(vectors, loop);
        to.reduce(Operation.ADD, sum, value);
        to.storeFloat(results, 0, sum);
        to.increase(results, Float.BYTES);
        to.add64(x, gap);
        to.add64(y, gap);
        to.repeat(rows, row);
    }

    private static void scale(Assembler to, DType dtype) {
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
            to.storeNext(dtype, result, value);
        }, from);
        to.add64(result, resultGap);
        to.add64(from, gap);
        to.add64(factors, step);
        to.repeat(rows, row);
    }
}
