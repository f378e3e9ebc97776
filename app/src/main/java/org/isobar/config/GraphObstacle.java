package org.isobar.config;

import java.util.Optional;

import org.isobar.backend.CommBackend;

/** Why steps cannot be CUDA graphs. */
public enum GraphObstacle {
    /** A captured step keeps the masks of the step that was captured. */
    DROPOUT("a graph would repeat the same dropout masks in every step"),
    /** A captured step cannot hold work of the host. */
    HOST_COLLECTIVES("a CUDA graph cannot hold collectives through host memory");

    private final String reason;

    GraphObstacle(String reason) {
        this.reason = reason;
    }

    /**
     * The obstacle in a run; empty if there is none.
     *
     * @param dropout the model's probability of dropout
     * @param carrier what carries collectives
     * @param ranks   number of ranks
     */
    public static Optional<GraphObstacle> of(double dropout, CommBackend carrier, int ranks) {
        return dropout > 0 ? Optional.of(DROPOUT)
            : ranks > 1 && carrier == CommBackend.HOST ? Optional.of(HOST_COLLECTIVES) : Optional.empty();
    }

    /** The reason, for messages. */
    public String reason() {
        return reason;
    }
}
