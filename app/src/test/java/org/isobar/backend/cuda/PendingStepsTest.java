package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;

import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.train.BatchLoss;
import org.isobar.train.Replica;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The host waits for a loss alone, and for no work behind it. The simulated machine runs an operation when somebody
 * waits for it, and no earlier: so what it has still to run is what nobody has waited for.
 */
@Tag("simulated")
class PendingStepsTest {
    private static final double LEARNING_RATE = 1e-3;

    @Test
    void nothingInAStepWaitsForTheDevice() {
        try (CudaReplica model = new CudaReplica(DType.F16, GradScaler.DYNAMIC, Replica.Steps.ISSUED)) {
            model.issue(LEARNING_RATE).get();
            assertTrue(pending(model.device()) <= 3, "what a step leaves behind its loss: places given back");
            model.issue(LEARNING_RATE);
            int one = pending(model.device());
            assertTrue(one > 100, "operations of a step: " + one);
            model.issue(LEARNING_RATE);
            model.issue(LEARNING_RATE);
            assertEquals(2 * one, pending(model.device()));
        }
    }

    /** More steps than there are slots of pinned memory for anything. */
    @Test
    void aLossIsReadWhileTheNextStepIsUnderWay() {
        try (CudaReplica model = new CudaReplica(DType.F32, GradScaler.NONE, Replica.Steps.ISSUED)) {
            model.issue(LEARNING_RATE).get();
            pending(model.device());
            model.issue(LEARNING_RATE).get();
            int rest = pending(model.device());
            Supplier<BatchLoss> late = model.issue(LEARNING_RATE);
            int one = pending(model.device());
            for (int step = 0; step < 20; step++) {
                Supplier<BatchLoss> next = model.issue(LEARNING_RATE);
                late.get();
                late = next;
            }
            assertEquals(one + rest, pending(model.device()));
        }
    }

    /** Operations on the compute stream that have not run; they have then. Each look at its last lets one run. */
    private static int pending(CudaDevice device) {
        int looks = 0;
        try (CudaEvent last = new CudaEvent()) {
            last.record(device.stack().compute());
            while (!last.reached()) {
                looks++;
            }
        }
        return looks - 1; // the event itself
    }
}
