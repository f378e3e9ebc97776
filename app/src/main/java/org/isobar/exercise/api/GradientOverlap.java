package org.isobar.exercise.api;

/**
 * Averages gradients over data-parallel ranks while backward computes further gradients. There is a new object for each
 * step. Backward calls {@link #ready} for each bucket, from the last one down to 0, and then {@link #finish}.
 */
public interface GradientOverlap {
    /**
     * The gradients of a bucket are complete on this rank; backward continues with the next bucket when this returns.
     *
     * @param bucket    number of the bucket, from 0
     * @param gradients of this rank; must be the mean over the ranks when {@link #finish} returns
     * @param dp        the data-parallel ranks
     */
    void ready(int bucket, float[] gradients, RankGroup dp);

    /** Backward is done. Returns when all gradients are the mean over the ranks. */
    void finish();
}
