package org.isobar.backend.cuda.ops;

/**
 * One block of device memory for the temporary data of operations: partial sums, and the workspace of cuBLASLt.
 * Operations of one stream use it one after the other, each from its start.
 */
interface CudaWorkspace {
    /**
     * Returns the address of at least {@code bytes} bytes, aligned to 256.
     *
     * @throws IllegalStateException if fewer bytes were reserved
     */
    long address(long bytes);
}
