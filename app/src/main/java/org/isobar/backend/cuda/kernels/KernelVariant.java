package org.isobar.backend.cuda.kernels;

import java.util.List;

/**
 * One way in which a kernel is compiled. Each class of operations lists all that it may ask for, so that every one is
 * compiled and looked at before a GPU sees it.
 *
 * @param file     "layer_norm.cu", say
 * @param function the kernel in it
 * @param defines  preprocessor definitions, "NAME" or "NAME=VALUE"
 */
public record KernelVariant(String file, String function, List<String> defines) {
    public KernelVariant {
        defines = List.copyOf(defines);
    }
}
