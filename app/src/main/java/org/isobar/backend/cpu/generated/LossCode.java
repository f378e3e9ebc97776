package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/** Machine code of sums of squares in double precision, with the bits of the loops in {@code CpuLoss}. */
public final class LossCode {
    /** Doubles in a vector. */
    private static final int LANES = Lanes.F64.length();
    private static final MachineCode DISTANCE = GeneratedCode.loop(to -> sum(to, true));
    private static final MachineCode NORM = GeneratedCode.loop(to -> sum(to, false));

    private LossCode() { }

    /** Number of elements of x in whole vectors of doubles, which the sums are over; 0 where code is not available. */
    public static int summed(MemorySegment x) {
        return vectors(x) * LANES;
    }

    private static int vectors(MemorySegment x) {
        return GeneratedCode.hasLoops(DType.F32) ? Math.toIntExact(x.byteSize() / (LANES * Float.BYTES)) : 0;
    }

    /** Returns the sum of (x - y)^2. */
    public static double squaredDistance(MemorySegment x, MemorySegment y) {
        GeneratedCode.requireBytes(y, x.byteSize());
        return run(DISTANCE, x, y);
    }

    /** Returns the sum of x^2. */
    public static double squaredNorm(MemorySegment x) {
        return run(NORM, x, x);
    }

    private static double run(MachineCode code, MemorySegment x, MemorySegment y) {
        int vectors = vectors(x);
        return vectors == 0 ? 0 : Double.longBitsToDouble(code.run(x.address(), y.address(), vectors, 0, 0, 0));
    }

    private static void sum(Assembler to, boolean distance) {
        int x = Assembler.RDI;
        int y = Assembler.RSI;
        int vectors = Assembler.RDX;
        int sums = 0;
        int value = 1;
        int other = 2;
        to.zero(sums);
        int loop = to.position();
        to.loadDoubles(value, x, 0);
        if (distance) {
            to.loadDoubles(other, y, 0);
            to.apply(Operation.SUBTRACT_DOUBLES, value, value, other);
        }
        to.apply(Operation.ADD_PRODUCT_OF_DOUBLES, sums, value, value);
        to.increase(x, LANES * Float.BYTES);
        to.increase(y, LANES * Float.BYTES);
        to.repeat(vectors, loop);
        // Adds the lanes up, first to last, from the memory behind the stack that a function may use.
        int lanes = -LANES * Double.BYTES;
        to.store(Assembler.RSP, lanes, sums);
        for (int lane = 1; lane < LANES; lane++) {
            to.addDouble(sums, Assembler.RSP, lanes + lane * Double.BYTES);
        }
        to.firstDoubleBits(Assembler.RAX, sums);
    }
}
