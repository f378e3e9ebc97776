package org.isobar.backend.cuda.driver;

import java.lang.foreign.Arena;
import java.util.Map;

/**
 * Settings that NCCL takes from the environment alone, where nobody has set them: <a
 * href="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html">its environment variables</a>.
 */
final class NcclDefaults {
    private static final int KEEP = 0; // what is set already

    /**
     * Ranks are connected by ncclCommInitRank, which a thread of its own calls, and not in the first collective of each
     * kind: there, the thread that trains would wait for peers, unseen by the job's watch. And kernels of several
     * communicators of a GPU come to it in the order in which the host issues them, the same at all ranks: else two
     * ranks might each run the one that the other has no room for.
     */
    private static final Map<String, String> SETTINGS =
        Map.of("NCCL_RUNTIME_CONNECT", "0", "NCCL_LAUNCH_ORDER_IMPLICIT", "1");

    private NcclDefaults() { }

    /** Sets them for this process. NCCL reads each once, so this comes before its first call. */
    static void set() {
        try (Arena arena = Arena.ofConfined()) {
            SETTINGS.forEach((name, value) -> SystemLibrary.ofC().status("setenv", arena.allocateFrom(name),
                arena.allocateFrom(value), KEEP));
        }
    }
}
