package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.Replica;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The host waits for a loss alone, and for no work behind it. The simulated machine runs an operation when somebody
 * waits for it, and no earlier: so what it has still to run is what nobody has waited for.
 */
@Tag("simulated")
class PendingStepsTest {
    private static final double LEARNING_RATE = 1e-3;

    @ParameterizedTest
    @EnumSource
    void nothingInAStepWaitsForTheDevice(Replica.Steps mode) {
        try (CudaReplica model = new CudaReplica(DType.F16, GradScaler.DYNAMIC, mode)) {
            model.issue(LEARNING_RATE).get();
            assertEquals(2, pending(model.device()), "what a step leaves behind its loss: two places given back");
            model.issue(LEARNING_RATE);
            int one = pending(model.device());
            assertTrue(one > 100, "operations of a step: " + one);
            model.issue(LEARNING_RATE);
            model.issue(LEARNING_RATE);
            assertEquals(2 * one, pending(model.device()));
        }
    }

    /** More steps than there are slots of pinned memory for anything. */
    @ParameterizedTest
    @EnumSource
    void aLossIsReadWhileTheNextStepIsUnderWay(Replica.Steps mode) {
        try (CudaReplica model = new CudaReplica(DType.F32, GradScaler.NONE, mode)) {
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

    /** Operations up to the last on the compute stream that have not run; they have then. Each look lets one run. */
    private static int pending(CudaDevice device) {
        int looks = 0;
        try (CudaEvent last = new CudaEvent()) {
            device.stack().compute().record(last);
            while (!last.reached()) {
                looks++;
            }
        }
        return looks - 1; // the event itself
    }
}
