package org.isobar.config;

/**
 * The equal parts that the global batch of a step is cut into.
 *
 * @param replicas     data-parallel ranks
 * @param microBatches batches that each of them computes in a step
 */
record BatchShares(int replicas, int microBatches) {
    /** The number of parts. */
    long count() {
        return (long) replicas * microBatches;
    }

    /** What shares the batch, in words. */
    @Override
    public String toString() {
        String ranks = replicas + (replicas == 1 ? " data-parallel rank" : " data-parallel ranks");
        return microBatches == 1 ? ranks
            : ranks + " with " + microBatches + (replicas == 1 ? " micro-batches" : " micro-batches each");
    }
}
