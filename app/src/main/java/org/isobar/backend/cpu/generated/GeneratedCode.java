package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.os.HostMachine;
import org.isobar.tensor.DType;

/** Decides what this machine computes with the machine code of this package. */
public final class GeneratedCode {
    private static final Set<String> FEATURES = HostMachine.processorFeatures();
    /** Instructions for vectors as long as Java's, so that results have the same bits. */
    private static final Optional<InstructionSet> SET =
        suitable(System.getProperty("os.arch"), FEATURES, Lanes.WIDTH).filter(set -> executes());
    private static final boolean PRODUCTS = SET.filter(set -> multiplies(set, FEATURES)).isPresent();
    private static final boolean HALVES = SET.filter(set -> convertsHalves(set, FEATURES)).isPresent();
    private static final boolean HALF_PRODUCTS = HALVES && multipliesHalves(FEATURES);

    private GeneratedCode() { }

    /**
     * Returns whether there are loops over vectors of this type: the processor has the instructions, and the system
     * lets a program make code.
     */
    public static boolean hasLoops(DType dtype) {
        return dtype == DType.F32 ? SET.isPresent() : dtype == DType.BF16 && HALVES;
    }

    /**
     * Returns whether products of operands of this type are computed by this package; those in BF16 if their sums have
     * an even number of terms. It packs right operands so quickly that packing always pays off, and transposed left
     * operands cost little.
     */
    public static boolean hasProducts(DType dtype) {
        return dtype == DType.F32 ? PRODUCTS : dtype == DType.BF16 && HALF_PRODUCTS;
    }

    /**
     * Returns whether this package also computes gradients of weights in F32, and those of inputs whose rows do not
     * collide in cache. With AVX-512, oneDNN's direct function is faster: it copies both operands, which come from the
     * last-level cache, while it computes.
     */
    public static boolean hasDirectProducts() {
        return PRODUCTS && SET.equals(Optional.of(InstructionSet.AVX2));
    }

    /** The instructions of this machine. */
    static InstructionSet set() {
        return SET.orElseThrow();
    }

    /** Returns the instructions for vectors of so many floats, if the processor has them. */
    static Optional<InstructionSet> suitable(String architecture, Set<String> features, int lanes) {
        return Arrays.stream(InstructionSet.values())
            .filter(set -> set.lanes == lanes && set.isSupported(architecture, features)).findFirst();
    }

    /** Returns whether the processor has no longer vectors than these. If it has, oneDNN's products are faster. */
    static boolean multiplies(InstructionSet set, Set<String> features) {
        return set == InstructionSet.AVX512 || !features.contains("avx512f");
    }

    /** Returns whether the processor converts and multiplies vectors of BF16. */
    static boolean convertsHalves(InstructionSet set, Set<String> features) {
        return set == InstructionSet.AVX512
            && features.containsAll(Set.of("avx512bw", "avx512vl", "avx512_bf16"));
    }

    /** Returns whether the processor has no AMX. If it has, oneDNN's products in BF16 are faster. */
    static boolean multipliesHalves(Set<String> features) {
        return !features.contains("amx_bf16");
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

    /** Makes a function that is a loop over vectors in F32; null where there are none. */
    static MachineCode loop(Consumer<Assembler> instructions) {
        return loop(DType.F32, instructions);
    }

    /** Makes a function that is a loop over vectors, some of them of the given type; null where there are none. */
    static MachineCode loop(DType dtype, Consumer<Assembler> instructions) {
        if (!hasLoops(dtype)) {
            return null;
        }
        Assembler to = new Assembler(set());
        instructions.accept(to);
        to.ret();
        return new MachineCode(to.bytes());
    }

    /**
     * Returns the number of whole vectors in {@code floats}; 0 where there is no code.
     *
     * @param others memory that code accesses in the same range
     * @throws IndexOutOfBoundsException if other memory is shorter
     */
    static int vectors(MemorySegment floats, MemorySegment... others) {
        for (MemorySegment other : others) {
            requireBytes(other, floats.byteSize());
        }
        return hasLoops(DType.F32) ? Math.toIntExact(floats.byteSize() / Lanes.F32.vectorByteSize()) : 0;
    }

    static void requireBytes(MemorySegment memory, long bytes) {
        if (memory.byteSize() < bytes) {
            throw new IndexOutOfBoundsException(memory.byteSize() + " bytes instead of " + bytes);
        }
    }
}
