package org.isobar.backend.cuda.kernels;

import java.util.List;

/**
 * A kernel with the definitions that it is compiled with. Each class of operations lists all variants that it may use,
 * so that tests can compile and check every one without a GPU.
 *
 * @param file     such as "layer_norm.cu"
 * @param function name of the kernel
 * @param defines  preprocessor definitions, "NAME" or "NAME=VALUE"
 */
public record KernelVariant(String file, String function, List<String> defines) {
    public KernelVariant {
        defines = List.copyOf(defines);
    }
}
