package org.isobar.backend.cpu.avx2;

import java.lang.foreign.MemorySegment;
import java.util.Set;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.os.HostMachine;

/** Decides whether this machine computes products in single precision with the machine code of this package. */
public final class Avx2 {
    private static final boolean PREFERRED = suits(System.getProperty("os.arch"), HostMachine.processorFeatures())
        && Lanes.WIDTH == Assembler.LANES && executes();

    private Avx2() { }

    /**
     * Returns whether products in F32 are computed by this package. It packs right operands so quickly that packing
     * always pays off, and transposed left operands cost nothing. The processor must have AVX2 and FMA, but not
     * AVX-512, for which oneDNN's products are close to the processor's limit; Java's vectors must be as long; and the
     * system must let a program generate code.
     */
    public static boolean isPreferred() {
        return PREFERRED;
    }

    /**
     * Returns the number of whole vectors in {@code floats}.
     *
     * @param others memory that code accesses in the same range
     * @throws IndexOutOfBoundsException if other memory is shorter
     */
    static int vectors(MemorySegment floats, MemorySegment... others) {
        for (MemorySegment other : others) {
            requireBytes(other, floats.byteSize());
        }
        return Math.toIntExact(floats.byteSize() / Assembler.VECTOR);
    }

    static void requireBytes(MemorySegment memory, long bytes) {
        if (memory.byteSize() < bytes) {
            throw new IndexOutOfBoundsException(memory.byteSize() + " bytes instead of " + bytes);
        }
    }

    /** Checks that memory consists of {@code vectors} vectors, at least one. */
    static void requireWhole(MemorySegment memory, int vectors) {
        if (vectors == 0 || memory.byteSize() != (long) vectors * Assembler.VECTOR) {
            throw new IndexOutOfBoundsException(memory.byteSize() + " bytes are no whole vectors");
        }
    }

    static boolean suits(String architecture, Set<String> features) {
        return "amd64".equals(architecture) && features.containsAll(Set.of("avx2", "fma"))
            && !features.contains("avx512f");
    }

    /** Returns whether the system lets a program generate code. */
    static boolean executes() {
        Assembler to = new Assembler();
        to.move(Assembler.RAX, 1);
        to.ret();
        try (MachineCode code = new MachineCode(to.bytes())) {
            return code.run(0, 0, 0, 0, 0, 0) == 1;
        } catch (IllegalStateException refused) {
            return false;
        }
    }
}
