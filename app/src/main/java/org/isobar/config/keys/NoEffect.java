package org.isobar.config.keys;

import java.util.Optional;

/**
 * A case in which a key changes nothing in a run.
 *
 * @param where the runs in which it changes nothing
 * @param value the value that changes nothing; empty for any value that is given
 * @param reason why it changes nothing, or what is done instead
 */
public record NoEffect(Where where, Optional<?> value, String reason) {
    /** Runs in which a key may have no effect. */
    public enum Where {
        ANYWHERE,
        /** Runs of a single process. */
        IN_ONE_PROCESS,
        ON_CPU,
        /** CPUs without instructions for matrix products in bf16. */
        ON_CPU_WITHOUT_BF16,
        ON_GPU
    }
}
