package org.isobar.data.zarr;

import java.util.ArrayDeque;
import java.util.Deque;

/** What threads that read chunks share: memory that no thread uses at the moment. Thread-safe. */
final class ScratchPool implements AutoCloseable {
    private final Deque<Scratch> free = new ArrayDeque<>();

    /** Scratch memory for the calling thread alone. */
    synchronized Scratch take() {
        return free.isEmpty() ? new Scratch() : free.pop();
    }

    /** Takes scratch memory back. */
    synchronized void give(Scratch scratch) {
        free.push(scratch);
    }

    /** Releases the memory. None may be taken. */
    @Override
    public synchronized void close() {
        free.forEach(Scratch::close);
        free.clear();
    }
}
