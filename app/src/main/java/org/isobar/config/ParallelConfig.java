package org.isobar.config;

import org.isobar.backend.CommBackend;
import org.isobar.distributed.TimeLimits;

/**
 * How the work is spread over processes.
 *
 * @param tensorParallel processes that share each layer's weights
 * @param contextParallel processes that share each image's tokens
 * @param parallelOrder axes of the process grid, fastest first, such as {@code tp-cp-dp}
 * @param noddp leave the gradients of data-parallel replicas unreduced
 * @param bucketCapMb largest gradient message, in MB
 * @param limits how long processes wait for each other
 * @param carrier what carries collectives between processes
 */
public record ParallelConfig(
    int tensorParallel,
    int contextParallel,
    String parallelOrder,
    boolean noddp,
    int bucketCapMb,
    boolean disableBroadcastBuffers,
    TimeLimits limits,
    CommBackend carrier) { }
