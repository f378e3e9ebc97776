package org.isobar.distributed;

import java.util.List;

/** An issued operation that may not have finished yet. */
public interface Work {
    /**
     * Waits until the tensors of this operation may be read and written again. For tensors in host memory, any thread
     * may access them after this method has returned. On a GPU the host does not wait; work that is issued to the
     * compute stream afterwards may access them.
     *
     * @throws CommunicationException if the operation failed on this or any other rank
     */
    void await();

    /** Whether the operation has ended, with success or failure. */
    boolean done();

    /** A work that is done. */
    static Work completed() {
        return all(List.of());
    }

    /** A work that is done when all {@code works} are. */
    static Work all(List<? extends Work> works) {
        return new Work() {
            @Override
            public void await() {
                works.forEach(Work::await);
            }

            @Override
            public boolean done() {
                return works.stream().allMatch(Work::done);
            }
        };
    }
}
