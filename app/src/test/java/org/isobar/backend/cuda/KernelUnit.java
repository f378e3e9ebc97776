package org.isobar.backend.cuda;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What is compiled in one go: a file with its definitions; it may have several kernels. */
record KernelUnit(String file, List<String> defines) {
    /** All of them, with their kernels. */
    static Map<KernelUnit, List<KernelVariant>> all() {
        return KernelVariants.all().stream()
            .collect(Collectors.groupingBy(variant -> new KernelUnit(variant.file(), variant.defines())));
    }
}
