package org.isobar.backend.cuda.nccl;

import org.isobar.backend.cuda.driver.CudaEvent;

/**
 * The two events around an operation on a communicator's stream.
 *
 * @param ready recorded on the compute stream; the operation waits for it
 * @param done  recorded on the communicator's stream behind the operation
 */
record NcclEvents(CudaEvent ready, CudaEvent done, Mode mode) implements AutoCloseable {
    /** What happens to the operation between the events. */
    enum Mode {
        /** It runs as soon as the GPU reaches it. */
        ISSUED,
        /** It is captured in a CUDA graph and runs when the graph is launched. */
        CAPTURED
    }

    @Override
    public void close() {
        ready.close();
        done.close();
    }
}
