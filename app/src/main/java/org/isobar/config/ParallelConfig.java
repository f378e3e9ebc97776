package org.isobar.config;

import org.isobar.backend.CommBackend;
import org.isobar.distributed.job.TimeLimits;

/**
 * How processes work together; how they share the work is the {@link RunConfig#grid}.
 *
 * @param noddp leave the gradients of data-parallel replicas unreduced
 * @param bucketCapMb largest gradient message, in MB
 * @param limits how long processes wait for each other
 * @param carrier what carries collectives between processes
 */
public record ParallelConfig(boolean noddp, int bucketCapMb, TimeLimits limits, CommBackend carrier) { }
