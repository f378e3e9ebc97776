package org.isobar.distributed;

/** A collective that was issued and may still be under way. */
public interface Work {
    /**
     * Returns when the tensors of this operation may be read and written again: by anybody, where they lie in the
     * host's memory; on a GPU, by whatever is issued from now on, for the host does not wait.
     *
     * @throws CommunicationException if the operation failed here or at any other rank
     */
    void await();

    /** Whether {@link #await} would return, or throw, at once. */
    boolean done();

    /** An operation that has nothing left to do. */
    static Work completed() {
        return new Work() {
            @Override
            public void await() { }

            @Override
            public boolean done() {
                return true;
            }
        };
    }
}
