package org.isobar.backend.cuda.kernels;

import org.isobar.tensor.Tensor;

/** How many blocks go over so many elements: the counterpart of {@code elementwise.cuh}. */
public final class ElementGrid {
    /** Threads of a block. */
    public static final int THREADS = 256;
    /** Elements of a block. */
    static final int CHUNK = 2048;

    private static final int ACCESS_BYTES = 16;

    private ElementGrid() { }

    /** Blocks for {@code elements} elements. */
    public static long blocks(long elements) {
        return Math.ceilDiv(elements, CHUNK);
    }

    /** Whether a tensor begins where 16 bytes can be moved at once; true of whole tensors, not of every slice. */
    public static boolean aligned(Tensor tensor) {
        return tensor.address() % ACCESS_BYTES == 0;
    }
}
