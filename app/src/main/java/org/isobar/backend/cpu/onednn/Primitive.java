package org.isobar.backend.cpu.onednn;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_desc_base;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.Pointer;
import org.isobar.backend.cpu.parallel.CpuWorkspace;

/**
 * A oneDNN primitive and, for each worker, the memory objects, scratch memory and stream that it runs with. JavaCPP
 * creates it; {@code java.lang.foreign} runs it without allocating.
 */
final class Primitive implements AutoCloseable {
    private static final long ARGUMENT_BYTES = 16; // dnnl_exec_arg_t: an int, padding, an address
    private static final long OBJECT = 8;

    private final primitive compiled;
    private final Arena arena = Arena.ofShared();
    private final List<Pointer> owned = new ArrayList<>();
    private final Call[] calls;

    /** An operand: its argument index in oneDNN and its layout. */
    record Argument(int number, memory.desc layout) { }

    /**
     * Takes ownership of {@code compiled} and closes it if construction fails. {@code description} remains owned by the
     * caller.
     */
    Primitive(primitive compiled, primitive_desc_base description, engine cpu, int workers, Argument... arguments) {
        this.compiled = compiled;
        owned.add(compiled);
        calls = new Call[workers];
        try (memory.desc scratch = description.scratchpad_desc()) {
            for (int worker = 0; worker < workers; worker++) {
                calls[worker] = new Call(cpu, scratch, arguments);
            }
        } catch (RuntimeException | Error failure) {
            close();
            throw failure;
        }
    }

    /** Returns the operands and resources that the given worker runs the primitive with. */
    Call call(int worker) {
        return calls[worker];
    }

    /** The operands and resources of one worker. */
    final class Call {
        private final long[] handles;
        private final long stream;
        private final long primitive = compiled.get().address();
        private final MemorySegment arguments;
        private final int count;

        private Call(engine cpu, memory.desc scratch, Argument... operands) {
            count = operands.length + 1;
            handles = new long[operands.length];
            arguments = arena.allocate(count * ARGUMENT_BYTES, OBJECT);
            for (int i = 0; i < operands.length; i++) {
                handles[i] = argument(i, operands[i].number, new memory(operands[i].layout, cpu, (Pointer) null));
            }
            MemorySegment room = arena.allocate(Math.max(1, scratch.get_size()), CpuWorkspace.CACHE_LINE);
            long scratchMemory = argument(operands.length, OneDnn.SCRATCH, new memory(scratch, cpu, (Pointer) null));
            OneDnn.setHandle(scratchMemory, room.address());
            stream own = new stream(cpu);
            owned.add(own);
            stream = own.get().address();
        }

        private long argument(int place, int number, memory object) {
            owned.add(object);
            long handle = object.get().address();
            arguments.set(ValueLayout.JAVA_INT, place * ARGUMENT_BYTES, number);
            arguments.set(ValueLayout.JAVA_LONG, place * ARGUMENT_BYTES + OBJECT, handle);
            return handle;
        }

        /** Sets the address of the operand at index {@code place} of the argument list. */
        void set(int place, long address) {
            OneDnn.setHandle(handles[place], address);
        }

        /** Runs the primitive on the calling thread. */
        void run() {
            OneDnn.execute(primitive, stream, count, arguments.address());
        }
    }

    @Override
    public void close() {
        owned.reversed().forEach(Pointer::close);
        arena.close();
    }
}
