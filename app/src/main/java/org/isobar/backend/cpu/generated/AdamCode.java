package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.backend.cpu.vector.AdamFactors;
import org.isobar.backend.cpu.vector.Lanes;

/** Machine code of Adam in single precision, with the bits of the loop in {@code CpuUpdate}. */
public final class AdamCode {
    private static final MachineCode UPDATE = GeneratedCode.loop(AdamCode::update);

    // General registers: the arguments. The factors are on the stack.
    private static final int PARAMETER = Assembler.RDI;
    private static final int GRADIENT = Assembler.RSI;
    private static final int MOMENT1 = Assembler.RDX;
    private static final int MOMENT2 = Assembler.RCX;
    private static final int VECTORS = Assembler.R8;

    // Vector registers: numbers of one vector of elements, then the factors in the order of the record.
    private static final int G = 0;
    private static final int M = 1;
    private static final int V = 2;
    private static final int SQUARE = 3;
    private static final int BETA1 = 4;
    private static final int SHARE1 = 5;
    private static final int BETA2 = 6;
    private static final int SHARE2 = 7;
    private static final int STEP = 8;
    private static final int ROOT = 9;
    private static final int EPSILON = 10;
    private static final int PART = 11;

    private AdamCode() { }

    /**
     * Updates the whole vectors of parameters and moments.
     *
     * @return the number of elements that were updated
     */
    public static int update(MemorySegment parameter, MemorySegment gradient, MemorySegment moment1,
        MemorySegment moment2, AdamFactors factors) {
        int vectors = GeneratedCode.vectors(parameter, gradient, moment1, moment2);
        if (vectors > 0) {
            UPDATE.run(parameter.address(), gradient.address(), moment1.address(), moment2.address(), vectors, 0,
                pair(factors.beta1(), factors.share1()), pair(factors.beta2(), factors.share2()),
                pair(factors.step(), factors.root()), pair(factors.epsilon(), factors.part()));
        }
        return vectors * Lanes.WIDTH;
    }

    private static long pair(float first, float second) {
        return Float.floatToRawIntBits(first) & 0xFFFFFFFFL | (long) Float.floatToRawIntBits(second) << Integer.SIZE;
    }

    private static void update(Assembler to) {
        for (int factor = BETA1; factor <= PART; factor++) {
            to.broadcast(factor, Assembler.RSP, Assembler.SEVENTH + (factor - BETA1) * Float.BYTES);
        }
        to.forEachVector(VECTORS, () -> {
            to.apply(Operation.MULTIPLY, G, PART, GRADIENT, 0);
            to.apply(Operation.MULTIPLY, M, BETA1, MOMENT1, 0);
            to.apply(Operation.ADD_PRODUCT, M, G, SHARE1);
            to.store(MOMENT1, 0, M);
            to.apply(Operation.MULTIPLY, V, BETA2, MOMENT2, 0);
            to.apply(Operation.MULTIPLY, SQUARE, G, SHARE2);
            to.apply(Operation.MULTIPLY, SQUARE, SQUARE, G);
            to.apply(Operation.ADD, V, V, SQUARE);
            to.store(MOMENT2, 0, V);
            to.squareRoot(V, V);
            to.apply(Operation.DIVIDE, V, V, ROOT);
            to.apply(Operation.ADD, V, V, EPSILON);
            to.apply(Operation.MULTIPLY, M, M, STEP);
            to.apply(Operation.DIVIDE, M, M, V);
            to.apply(Operation.ADD, M, M, PARAMETER, 0);
            to.store(PARAMETER, 0, M);
        }, PARAMETER, GRADIENT, MOMENT1, MOMENT2);
    }
}
