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

    /**
     * Computes the sum of (x - y)^2 over whole vectors of doubles.
     *
     * @param sum address of the result, which is set if there is such a vector
     * @return the number of elements summed
     */
    public static int squaredDistance(MemorySegment x, MemorySegment y, long sum) {
        assert y.byteSize() >= x.byteSize() : y + " is shorter than " + x;
        return run(DISTANCE, x, y, sum);
    }

    /** Computes the sum of x^2 in the same way. */
    public static int squaredNorm(MemorySegment x, long sum) {
        return run(NORM, x, x, sum);
    }

    private static int run(MachineCode code, MemorySegment x, MemorySegment y, long sum) {
        int vectors = Math.toIntExact(x.byteSize() / (LANES * Float.BYTES));
        if (vectors > 0) {
            code.run(x.address(), y.address(), vectors, sum);
        }
        return vectors * LANES;
    }

    private static MachineCode sum(boolean distance) {
        int x = Assembler.RDI;
        int y = Assembler.RSI;
        int vectors = Assembler.RDX;
        int result = Assembler.RCX;
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
        to.storeDouble(result, 0, value);
        to.ret();
        return new MachineCode(to.bytes());
    }
}
