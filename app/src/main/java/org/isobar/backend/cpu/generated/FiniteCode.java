package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.Lanes;

/** Machine code that looks for infinities and NaN, at the rate of memory from the first call on. */
public final class FiniteCode {
    private static final MachineCode DIFFERENCES = GeneratedCode.loop(FiniteCode::differences);

    private FiniteCode() { }

    /** Returns whether all numbers are finite. Java looks at those after the last whole vector, and in arrays. */
    public static boolean areFinite(MemorySegment floats) {
        int vectors = floats.isNative() ? GeneratedCode.vectors(floats) : 0;
        boolean finite = vectors == 0 || DIFFERENCES.run(floats.address(), vectors, 0, 0, 0, 0) == 0;
        for (long i = (long) vectors * Lanes.WIDTH; i < floats.byteSize() / Float.BYTES; i++) {
            finite &= Float.isFinite(floats.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
        }
        return finite;
    }

    /** Returns the bits of all {@code x - x}, which are zero if x is finite and else NaN. */
    private static void differences(Assembler to) {
        int bits = 0;
        int value = 1;
        to.zero(bits);
        to.forEachVector(Assembler.RSI, () -> {
            to.load(value, Assembler.RDI, 0);
            to.apply(Operation.SUBTRACT, value, value, value);
            to.apply(Operation.OR, bits, bits, value);
        }, Assembler.RDI);
        to.reduce(Operation.OR, bits, value);
        to.firstDoubleBits(Assembler.RAX, bits);
    }
}
