package org.isobar.distributed;

import java.util.List;

/** A collective that was issued and may still be under way. */
public interface Work {
    /**
     * Returns when the tensors of this operation may be read and written again: by anybody, where they lie in the
     * host's memory; on a GPU, by whatever is issued from now on, for the host does not wait.
     *
     * @throws CommunicationException if the operation failed here or at any other rank
     */
    void await();

    /** Whether the operation has come to its end, good or bad. */
    boolean done();

    /** An operation that has nothing left to do. */
    static Work completed() {
        return all(List.of());
    }

    /** Several operations as one. */
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
