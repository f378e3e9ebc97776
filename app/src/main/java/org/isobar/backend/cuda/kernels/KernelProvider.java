package org.isobar.backend.cuda.kernels;

/** A source of compiled kernels. */
public interface KernelProvider {
    /**
     * The kernel {@code function} of the source {@code file}, compiled at first use with the given preprocessor
     * definitions, each "NAME" or "NAME=VALUE".
     *
     * @param file     name in the resource folder {@code kernels}, such as "layer_norm.cu"
     * @param function name of an {@code extern "C" __global__} function in it
     */
    LoadedKernel kernel(String file, String function, String... defines);

    /** Compute capability of the device, 90 for 9.0. */
    int capability();

    /** The most shared memory that a block of a kernel may have on the device, in bytes. */
    int sharedBytes();

    /** Number of streaming multiprocessors of the device, for the size of grid-stride loops. */
    int multiprocessors();
}
