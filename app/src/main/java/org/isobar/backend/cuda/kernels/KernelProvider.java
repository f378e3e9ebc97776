package org.isobar.backend.cuda.kernels;

/** Where compiled kernels come from. */
public interface KernelProvider {
    /**
     * The kernel {@code function} of the source {@code file}, compiled with the given preprocessor definitions, each
     * "NAME" or "NAME=VALUE". Compiled at first use and then kept.
     *
     * @param file     name in the resource folder {@code kernels}: "layer_norm.cu", say
     * @param function name of an {@code extern "C" __global__} function in it
     */
    LoadedKernel kernel(String file, String function, String... defines);

    /** Streaming multiprocessors of the device, for the size of grids that go over their work in strides. */
    int multiprocessors();
}
