package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.StepLaunch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The host waits only for losses, and not for work behind them. The simulated machine runs an operation only when the
 * host waits for it, so operations that have not run are those that the host has not waited for.
 */
@Tag("simulated")
@Isolated("A test beside it that waits for the whole context would run the pending operations.")
class PendingStepsTest {
    private static final double LEARNING_RATE = 1e-3;

    @ParameterizedTest
    @EnumSource
    void issuingAStepDoesNotWaitForTheDevice(StepLaunch mode) {
        try (CudaReplica model = new CudaReplica(DType.F16, GradScaler.DYNAMIC, mode)) {
            model.issue(LEARNING_RATE).get();
            assertEquals(2, pending(model.device()), "work behind the loss: the events of two input slots");
            model.issue(LEARNING_RATE);
            int one = pending(model.device());
            assertTrue(one > 80, "operations of a step: " + one);
            model.issue(LEARNING_RATE);
            model.issue(LEARNING_RATE);
            assertEquals(2 * one, pending(model.device()));
        }
    }

    /** Runs more steps than there are slots of pinned memory. */
    @ParameterizedTest
    @EnumSource
    void aLossIsReadWhileTheNextStepIsInFlight(StepLaunch mode) {
        try (CudaReplica model = new CudaReplica(DType.F32, GradScaler.NONE, mode)) {
            model.issue(LEARNING_RATE).get();
            pending(model.device());
            model.issue(LEARNING_RATE).get();
            int rest = pending(model.device());
            Supplier<BatchLoss> previous = model.issue(LEARNING_RATE);
            int one = pending(model.device());
            for (int step = 0; step < 20; step++) {
                Supplier<BatchLoss> next = model.issue(LEARNING_RATE);
                previous.get();
                previous = next;
            }
            assertEquals(one + rest, pending(model.device()));
        }
    }

    /** Counts the pending operations of the compute stream, and runs them: each query runs one. */
    private static int pending(CudaDevice device) {
        int queries = 0;
        try (CudaEvent last = new CudaEvent()) {
            device.stack().compute().record(last);
            while (!last.reached()) {
                queries++;
            }
        }
        return queries - 1; // the event itself
    }
}
