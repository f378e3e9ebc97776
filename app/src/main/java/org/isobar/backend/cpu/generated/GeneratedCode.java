package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.os.HostMachine;

/** Decides what this machine computes with the machine code of this package. */
public final class GeneratedCode {
    /** Instructions for vectors as long as Java's, so that results have the same bits. */
    private static final Optional<InstructionSet> LOOPS = loops(System.getProperty("os.arch"),
        HostMachine.processorFeatures(), Lanes.WIDTH).filter(set -> executes());
    private static final boolean PRODUCTS = LOOPS.isPresent() && multiplies(HostMachine.processorFeatures());

    private GeneratedCode() { }

    /** Returns whether there are loops over vectors: the processor has the instructions, and the system admits code. */
    public static boolean hasLoops() {
        return LOOPS.isPresent();
    }

    /**
     * Returns whether products in F32 are computed by this package. It packs right operands so quickly that packing
     * always pays off, and transposed left operands cost nothing. With AVX-512, oneDNN's products are close to the
     * processor's limit.
     */
    public static boolean hasProducts() {
        return PRODUCTS;
    }

    static Optional<InstructionSet> loops(String architecture, Set<String> features, int lanes) {
        return Arrays.stream(InstructionSet.values())
            .filter(set -> set.lanes == lanes && set.isSupported(architecture, features)).findFirst();
    }

    static boolean multiplies(Set<String> features) {
        return !features.contains("avx512f");
    }

    /** Returns whether the system lets a program generate code. */
    static boolean executes() {
        Assembler to = new Assembler(InstructionSet.AVX2);
        to.move(Assembler.RAX, 1);
        to.ret();
        try (MachineCode code = new MachineCode(to.bytes())) {
            return code.run(0, 0, 0, 0, 0, 0) == 1;
        } catch (IllegalStateException refused) {
            return false;
        }
    }

    /** Makes a function of instructions over vectors; null where there are no loops. */
    static MachineCode loop(Consumer<Assembler> instructions) {
        if (LOOPS.isEmpty()) {
            return null;
        }
        Assembler to = new Assembler(LOOPS.get());
        instructions.accept(to);
        to.ret();
        return new MachineCode(to.bytes());
    }

    /**
     * Returns the number of whole vectors in {@code floats}; 0 where there are no loops.
     *
     * @param others memory that code accesses in the same range
     * @throws IndexOutOfBoundsException if other memory is shorter
     */
    static int vectors(MemorySegment floats, MemorySegment... others) {
        for (MemorySegment other : others) {
            requireBytes(other, floats.byteSize());
        }
        return hasLoops() ? Math.toIntExact(floats.byteSize() / Lanes.F32.vectorByteSize()) : 0;
    }

    static void requireBytes(MemorySegment memory, long bytes) {
        if (memory.byteSize() < bytes) {
            throw new IndexOutOfBoundsException(memory.byteSize() + " bytes instead of " + bytes);
        }
    }

    /** Checks that memory consists of {@code vectors} vectors, at least one. */
    static void requireWhole(MemorySegment memory, int vectors) {
        if (vectors == 0 || memory.byteSize() != (long) vectors * Lanes.F32.vectorByteSize()) {
            throw new IndexOutOfBoundsException(memory.byteSize() + " bytes are no whole vectors");
        }
    }
}
