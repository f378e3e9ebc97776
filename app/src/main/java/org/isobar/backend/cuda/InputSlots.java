package org.isobar.backend.cuda;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.DeviceMemory;
import org.isobar.backend.cuda.driver.Gpu;

/**
 * Device memory that host buffers are copied into. Each size has twice as many slots as are in use at one time, so that
 * the next batch is copied while this one is used. Slots are allocated in the first two steps and then reused in turn.
 * Used by the thread that issues the operations.
 */
final class InputSlots implements AutoCloseable {
    /** @param read recorded after the last operation that reads the slot */
    record Slot(DeviceMemory memory, CudaEvent read) { }

    /** All slots of one size. */
    private static final class Pool {
        private final Deque<Slot> free = new ArrayDeque<>(); // oldest first
        private int all;
        private int taken;
        private int mostTaken;
    }

    private final Gpu gpu;
    private final Map<Long, Pool> pools = new HashMap<>();
    private final List<Slot> slots = new ArrayList<>();

    InputSlots(Gpu gpu) {
        this.gpu = gpu;
    }

    /** A slot of that size. Operations may still read it: a copy into it must wait for its event. */
    Slot take(long bytes) {
        Pool pool = pools.computeIfAbsent(bytes, size -> new Pool());
        pool.taken++;
        pool.mostTaken = Math.max(pool.mostTaken, pool.taken);
        if (pool.all < 2 * pool.mostTaken) {
            Slot slot = new Slot(new DeviceMemory(gpu, "the input of a step", bytes), new CudaEvent());
            slots.add(slot);
            pool.all++;
            return slot;
        }
        return pool.free.remove();
    }

    /** Returns a slot, after its event was recorded behind the last operation that reads it. */
    void giveBack(Slot slot) {
        Pool pool = pools.get(slot.memory.bytes());
        pool.taken--;
        pool.free.add(slot);
    }

    @Override
    public void close() {
        slots.forEach(slot -> {
            slot.memory.close();
            slot.read.close();
        });
        slots.clear();
        pools.clear();
    }
}
