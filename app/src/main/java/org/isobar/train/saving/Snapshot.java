package org.isobar.train.saving;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

import org.isobar.checkpoint.TensorSlice;
import org.isobar.device.Device;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.train.step.ModelState;

/** A copy in host memory of what a rank is to write of a checkpoint: it is taken at once, and written at leisure. */
public final class Snapshot implements AutoCloseable {
    private static final int EXPONENT = 0x7f80_0000; // of binary32: all of its bits, in what is not finite

    private final Device device;
    private final List<Copy> copies = new ArrayList<>();
    private final Arena arena;

    private record Copy(ModelState.Slice original, MemorySegment host) { }

    /**
     * Room for a copy of {@code share}.
     *
     * @throws OutOfDeviceMemoryException if this machine has not that much memory
     */
    public Snapshot(Device device, List<ModelState.Slice> share) {
        this.device = device;
        long bytes = share.stream().mapToLong(slice -> slice.here().bytes()).sum();
        long available = HostMachine.availableMemory();
        if (bytes > available) { // the system might promise it all the same, and kill whoever takes it at its word
            throw tooMuch(bytes, available);
        }
        arena = Arena.ofShared();
        try {
            for (ModelState.Slice slice : share) {
                copies.add(new Copy(slice, arena.allocate(slice.here().bytes(), Float.BYTES)));
            }
        } catch (OutOfMemoryError refused) { // by a limit that availableMemory does not know, such as ulimit -v
            arena.close();
            throw tooMuch(bytes, 0);
        }
    }

    private static OutOfDeviceMemoryException tooMuch(long bytes, long available) {
        return new OutOfDeviceMemoryException("not enough memory for a checkpoint's copy: " + gigabytes(bytes)
            + " GB are needed, this machine has " + gigabytes(available) + " GB left; more processes share it, "
            + "a smaller model needs less, and --keep=0 saves no checkpoints");
    }

    /** Copies what the operations issued so far leave; waits for them. */
    public void take() {
        for (Copy copy : copies) {
            device.download(copy.host(), copy.original().here());
        }
    }

    /**
     * What was copied. A tensor with numbers that are not finite does not yield them: nobody could go on from there,
     * and a good checkpoint must not make way for it.
     */
    public List<TensorSlice> pieces() {
        return copies.stream().map(copy -> new TensorSlice(copy.original().name(), copy.original().shape(),
            copy.original().shard(), destination -> write(copy, destination))).toList();
    }

    private static void write(Copy copy, MemorySegment destination) {
        int largestExponent = 0;
        for (long at = 0; at < copy.host().byteSize(); at += Float.BYTES) {
            largestExponent = Math.max(largestExponent, copy.host().get(ValueLayout.JAVA_INT, at) & EXPONENT);
        }
        if (largestExponent == EXPONENT) {
            throw new UserException(copy.original().name() + " has numbers that are not finite, so training has "
                + "diverged; lower lr, or lengthen warmup");
        }
        destination.copyFrom(copy.host());
    }

    @Override
    public void close() {
        arena.close();
    }
}
