package org.isobar.backend.cuda.ops;

/**
 * One block of device memory for what operations need besides their arguments: partial sums, and what cuBLASLt asks
 * for. Operations of one stream use it one after the other, each from its start.
 */
interface CudaWorkspace {
    /**
     * Address of at least {@code bytes} bytes, aligned to 256.
     *
     * @throws IllegalStateException if so much was not reserved
     */
    long address(long bytes);
}
