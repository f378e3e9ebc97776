package org.isobar.backend.cpu.avx2;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.avx2.InstructionEncoder.Operation;

/** Machine code of sums of squares in double precision, with the bits of the loops in {@code CpuLoss}. */
public final class Avx2Loss {
    private static final MachineCode DISTANCE = sum(true);
    private static final MachineCode NORM = sum(false);
    /** Doubles in a vector. */
    private static final int LANES = Assembler.VECTOR / Double.BYTES;

    private Avx2Loss() { }

    /** Number of elements of x in whole vectors of doubles, which the sums are over. */
    public static int summed(MemorySegment x) {
        return vectors(x) * LANES;
    }

    private static int vectors(MemorySegment x) {
        return Math.toIntExact(x.byteSize() / (LANES * Float.BYTES));
    }

    /** Returns the sum of (x - y)^2. */
    public static double squaredDistance(MemorySegment x, MemorySegment y) {
        Avx2.requireBytes(y, x.byteSize());
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

    private static MachineCode sum(boolean distance) {
        int x = Assembler.RDI;
        int y = Assembler.RSI;
        int vectors = Assembler.RDX;
        int sums = 0;
        int value = 1;
        int other = 2;
        Assembler to = new Assembler();
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
        // Adds the lanes up, first to last.
        to.swapDoubles(value, sums);
        to.apply(Operation.ADD_DOUBLES, value, value, sums);
        to.permuteHalves(sums, sums, sums, 0x01);
        to.apply(Operation.ADD_DOUBLES, value, value, sums);
        to.swapDoubles(sums, sums);
        to.apply(Operation.ADD_DOUBLES, value, value, sums);
        to.firstDoubleBits(Assembler.RAX, value);
        to.ret();
        return new MachineCode(to.bytes());
    }
}
