package org.isobar.train.saving;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cpu.generated.FiniteCode;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.device.Device;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.device.ProfilerRanges;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.train.step.ModelState;

/** A copy in host memory of a rank's share of a checkpoint, which is written to disk while training continues. */
public final class Snapshot implements AutoCloseable {
    private final Device device;
    private final long allRanks;
    private final List<Copy> copies = new ArrayList<>();
    private final Arena arena;

    private record Copy(ModelState.Slice original, MemorySegment host) { }

    /**
     * Allocates host memory for a copy of {@code share}.
     *
     * @param allRanks bytes of the shares of all ranks
     * @throws OutOfDeviceMemoryException if this machine has less memory available
     */
    public Snapshot(Device device, List<ModelState.Slice> share, long allRanks) {
        this.device = device;
        this.allRanks = allRanks;
        long bytes = share.stream().mapToLong(slice -> slice.here().bytes()).sum();
        long available = HostMachine.availableMemory();
        if (bytes > available) { // with overcommit, malloc may succeed, and the kernel then kills the process
            throw tooMuch(bytes, available);
        }
        arena = Arena.ofShared();
        try {
            for (ModelState.Slice slice : share) {
                copies.add(new Copy(slice, arena.allocate(slice.here().bytes(), Float.BYTES)));
            }
        } catch (OutOfMemoryError e) { // a limit that availableMemory does not include, such as ulimit -v
            arena.close();
            throw tooMuch(bytes, 0);
        }
    }

    private static OutOfDeviceMemoryException tooMuch(long bytes, long available) {
        return new OutOfDeviceMemoryException("not enough memory for a checkpoint's copy: " + gigabytes(bytes)
            + " GB are needed, this machine has " + gigabytes(available) + " GB left; each rank copies less with "
            + "more ranks or a smaller model, and --keep=0 saves no checkpoints");
    }

    /** Ranges of the device whose tensors are copied. */
    ProfilerRanges ranges() {
        return device.ranges();
    }

    /** Bytes of the tensors that all ranks write together. */
    long allRanks() {
        return allRanks;
    }

    /** Copies the tensors to host memory after all operations issued so far. Returns when the copy is complete. */
    public void take() {
        for (Copy copy : copies) {
            device.download(copy.host(), copy.original().here());
        }
    }

    /**
     * The copied tensors. Writing a tensor with a non-finite value throws {@link UserException}, so the save fails:
     * training cannot resume from such values, and retention must not delete a good checkpoint for them.
     */
    public List<TensorSlice> pieces() {
        return copies.stream().map(copy -> new TensorSlice(copy.original().name(), copy.original().shape(),
            copy.original().shard(), destination -> write(copy, destination))).toList();
    }

    private static void write(Copy copy, MemorySegment destination) {
        if (!FiniteCode.areFinite(copy.host())) {
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
