package org.isobar.backend.cuda.driver;

import java.lang.foreign.Arena;
import java.util.Map;

/**
 * Defaults for settings that NCCL reads only from <a
 * href="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html">environment variables</a>.
 */
final class NcclDefaults {
    private static final int KEEP = 0; // setenv does not overwrite a variable that is set

    /**
     * NCCL_RUNTIME_CONNECT=0 connects ranks in ncclCommInitRank, which has its own thread, instead of in the first
     * collective of each kind. There the training thread would wait for peers without the failure detector noticing.
     *
     * <p>NCCL_LAUNCH_ORDER_IMPLICIT=1 starts the kernels of several communicators of a GPU in the order of issue, which
     * is the same on all ranks. Otherwise two ranks could each run the kernel that waits for the other's next one.
     */
    private static final Map<String, String> SETTINGS =
        Map.of("NCCL_RUNTIME_CONNECT", "0", "NCCL_LAUNCH_ORDER_IMPLICIT", "1");

    private NcclDefaults() { }

    /** Sets the defaults for this process. Must run before the first call of NCCL, which reads each variable once. */
    static void set() {
        try (Arena arena = Arena.ofConfined()) {
            SETTINGS.forEach((name, value) -> SystemLibrary.ofC().status("setenv", arena.allocateFrom(name),
                arena.allocateFrom(value), KEEP));
        }
    }
}
