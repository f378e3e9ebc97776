package org.isobar.backend.cuda.nccl;

import org.isobar.distributed.Work;

/**
 * The handle of an issued operation. {@link #await} makes the compute stream wait for the operation; the host goes on.
 */
record NcclWork(NcclOperation operation, NcclStreamOrder order, NcclWatchdog watchdog) implements Work {
    @Override
    public void await() {
        watchdog.requireRunning(operation);
        order.awaitOnCompute(operation);
    }

    @Override
    public boolean done() {
        return watchdog.failed() || order.done(operation);
    }
}
