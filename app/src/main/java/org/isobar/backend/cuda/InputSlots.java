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
 * The places in a GPU's memory that host buffers are copied into: for each size twice as many as are in use at one
 * time, so that the next batch arrives while this one is worked on. They are made as they are first needed, in the
 * first two steps, and then used again in turn. Belongs to the thread that issues the operations.
 */
final class InputSlots implements AutoCloseable {
    /** @param read stands for the last operation that read it */
    public record Place(DeviceMemory memory, CudaEvent read) { }

    /** All places of one size. */
    private static final class Pool {
        private final Deque<Place> free = new ArrayDeque<>(); // the one that has been free for longest first
        private int all;
        private int taken;
        private int mostTaken;
    }

    private final Gpu gpu;
    private final Map<Long, Pool> pools = new HashMap<>();
    private final List<Place> places = new ArrayList<>();

    InputSlots(Gpu gpu) {
        this.gpu = gpu;
    }

    /** A place of that size. It may still be read: a copy into it waits for its event. */
    Place take(long bytes) {
        Pool pool = pools.computeIfAbsent(bytes, size -> new Pool());
        pool.taken++;
        pool.mostTaken = Math.max(pool.mostTaken, pool.taken);
        if (pool.all < 2 * pool.mostTaken) {
            Place place = new Place(new DeviceMemory(gpu, "the input of a step", bytes), new CudaEvent());
            places.add(place);
            pool.all++;
            return place;
        }
        return pool.free.remove();
    }

    /** Gives back a place; its event stands for the last that reads it. */
    void giveBack(Place place) {
        Pool pool = pools.get(place.memory.bytes());
        pool.taken--;
        pool.free.add(place);
    }

    @Override
    public void close() {
        places.forEach(place -> {
            place.memory.close();
            place.read.close();
        });
        places.clear();
        pools.clear();
    }
}
