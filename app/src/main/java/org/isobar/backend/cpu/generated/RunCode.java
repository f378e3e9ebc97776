package org.isobar.backend.cpu.generated;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.DType;

/** Machine code that copies short runs of bytes, such as the pixels of a patch in one row of an image. */
public final class RunCode {
    private static final MachineCode COPY = GeneratedCode.loop(RunCode::copy);
    private static final int PIECE = 16; // bytes

    private RunCode() { }

    /** Whether there is code for runs of so many bytes. */
    public static boolean suits(int bytes) {
        return GeneratedCode.hasLoops(DType.F32) && bytes % PIECE == 0;
    }

    /**
     * Runs of bytes.
     *
     * @param memory starts with the first run
     * @param stride bytes from one run to the next
     */
    public record Runs(MemorySegment memory, long stride) { }

    /** Copies {@code count} runs of {@code bytes} bytes. */
    public static void copy(Runs to, Runs from, int count, int bytes) {
        assert suits(bytes) : bytes;
        GeneratedCode.requireBytes(to.memory, (count - 1) * to.stride + bytes);
        GeneratedCode.requireBytes(from.memory, (count - 1) * from.stride + bytes);
        if (count > 0 && bytes > 0) {
            COPY.run(to.memory.address(), to.stride, from.memory.address(), from.stride, count, bytes / PIECE);
        }
    }

    private static void copy(Assembler to) {
        int target = Assembler.RDI;
        int source = Assembler.RDX;
        int runs = Assembler.R8;
        int pieces = Assembler.RAX;
        int value = 0;
        int run = to.position();
        to.copy(Assembler.R10, target);
        to.copy(Assembler.R11, source);
        to.copy(pieces, Assembler.R9);
        int piece = to.position();
        to.loadPiece(value, Assembler.R11);
        to.storePiece(Assembler.R10, value);
        to.increase(Assembler.R10, PIECE);
        to.increase(Assembler.R11, PIECE);
        to.repeat(pieces, piece);
        to.add64(target, Assembler.RSI);
        to.add64(source, Assembler.RCX);
        to.repeat(runs, run);
    }
}
