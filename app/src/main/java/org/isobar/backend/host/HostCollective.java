package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;

/**
 * A call together with the host memory of its tensors.
 *
 * @param call the issued call
 * @param out  memory that receives the result
 * @param in   memory that is read; may be {@code out} or part of it
 */
record HostCollective(CollectiveCall call, MemorySegment out, MemorySegment in) {
    /** Kind of operation. */
    Kind kind() {
        return call.kind();
    }

    /** Index in the group of the rank whose tensor is broadcast, or of the peer. */
    int root() {
        return call.root();
    }

    /** The division of the tensor into the parts of the ranks. */
    RankSegments segments() {
        return new RankSegments(call.sizes(), call.dtype().bytes());
    }
}
