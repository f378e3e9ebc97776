package org.isobar.backend.cuda.driver;

import java.util.Optional;

/**
 * Properties of a GPU, read without a CUDA context.
 *
 * @param capability compute capability, 90 for 9.0
 * @param bytes      total memory
 * @param free       free memory in bytes, if NVML reports it
 */
public record GpuInfo(String name, int capability, long bytes, Optional<Long> free) {
    /** Lowest compute capability that the kernels run on: 8.0. */
    static final int OLDEST_CAPABILITY = 80;

    /** "9.0". */
    public String computeCapability() {
        return capability / 10 + "." + capability % 10;
    }

    @Override
    public String toString() {
        return name + " of compute capability " + computeCapability();
    }
}
