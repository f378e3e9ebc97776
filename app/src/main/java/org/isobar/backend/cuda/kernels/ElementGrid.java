package org.isobar.backend.cuda.kernels;

import org.isobar.tensor.Tensor;

/** Grid size of elementwise kernels: the Java counterpart of {@code elementwise.cuh}. */
public final class ElementGrid {
    /** Threads in a block. */
    public static final int THREADS = 256;
    /** Elements that a block computes. */
    static final int CHUNK = 2048;

    private static final int ACCESS_BYTES = 16;

    private ElementGrid() { }

    /** Number of blocks for {@code elements} elements. */
    public static long blocks(long elements) {
        return Math.ceilDiv(elements, CHUNK);
    }

    /** Whether a tensor starts at a multiple of 16 bytes, for vector accesses. Whole tensors do; slices may not. */
    public static boolean aligned(Tensor tensor) {
        return tensor.address() % ACCESS_BYTES == 0;
    }
}
