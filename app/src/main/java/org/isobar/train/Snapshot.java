package org.isobar.train;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

import org.isobar.checkpoint.Piece;
import org.isobar.device.Device;

/** A copy in host memory of what a rank is to write of a checkpoint: it is taken at once, and written at leisure. */
final class Snapshot implements AutoCloseable {
    private final Device device;
    private final List<Copy> copies = new ArrayList<>();
    private final Arena arena = Arena.ofShared();

    private record Copy(ModelState.Slice original, MemorySegment host) { }

    /** Room for a copy of {@code share}. */
    Snapshot(Device device, List<ModelState.Slice> share) {
        this.device = device;
        for (ModelState.Slice slice : share) {
            copies.add(new Copy(slice, arena.allocate(slice.here().bytes(), Float.BYTES)));
        }
    }

    /** Copies what the operations issued so far leave; waits for them. */
    void take() {
        for (Copy copy : copies) {
            device.download(copy.host(), copy.original().here());
        }
    }

    /** What was copied. */
    List<Piece> pieces() {
        return copies.stream().map(copy -> new Piece(copy.original().name(), copy.original().shape(),
            copy.original().shard(), destination -> destination.copyFrom(copy.host()))).toList();
    }

    @Override
    public void close() {
        arena.close();
    }
}
