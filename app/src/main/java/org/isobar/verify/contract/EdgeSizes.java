package org.isobar.verify.contract;

/** Sizes that expose errors at the ends of vectors, rows and chunks. */
final class EdgeSizes {
    private EdgeSizes() { }

    /** Numbers of elements: smaller than a vector, whole vectors, odd tails, several chunks. */
    static int[] elements() {
        return new int[] {1, 3, 16, 17, 67, 1000, 8197, 20_001};
    }

    /** Matrices, rows by columns. */
    static int[][] matrices() {
        return new int[][] {{1, 1}, {1, 64}, {5, 3}, {7, 16}, {16, 17}, {3, 1000}, {67, 96}, {300, 50}, {1001, 33}};
    }
}
