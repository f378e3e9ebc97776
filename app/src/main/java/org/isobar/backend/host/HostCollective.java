package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;

/**
 * An operation over tensors in the host's memory.
 *
 * @param operation what was issued
 * @param out       memory that receives the result
 * @param in        memory that is read; may be {@code out} or part of it
 */
record HostCollective(CollectiveCall operation, MemorySegment out, MemorySegment in) {
    /** What is asked for. */
    Kind kind() {
        return operation.kind();
    }

    /** Place in the group of the rank whose tensor is broadcast, or of the peer. */
    int root() {
        return operation.root();
    }

    /** Where each rank's part lies. */
    RankSegments parts() {
        return new RankSegments(operation.sizes(), operation.dtype().bytes());
    }
}
