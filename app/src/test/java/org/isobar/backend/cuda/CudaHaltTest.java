package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepLaunch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A loss that is not finite, with a further step issued or captured already: weights keep their last good values. */
@Tag("cuda")
class CudaHaltTest {
    private static final double RATE = 1e-3;

    @ParameterizedTest
    @CsvSource({"F32, EAGER", "F16, EAGER", "F32, GRAPH", "F16, GRAPH"})
    void nothingMovesFromTheBadStepOn(DType compute, StepLaunch mode) {
        try (CudaReplica model = new CudaReplica(compute, GradScaler.of(compute), mode)) {
            for (int step = 0; step < 6; step++) {
                assertTrue(Double.isFinite(model.issue(RATE).get().mean()));
            }
            spoil(model, Float.NaN);
            float[] weights = model.weights();
            Adam.Progress progress = model.replica().step().progress();
            Supplier<BatchLoss> bad = model.issue(RATE);
            Supplier<BatchLoss> ahead = model.issue(RATE);
            assertTrue(Double.isNaN(bad.get().mean()));
            assertTrue(Double.isNaN(ahead.get().mean()));
            assertArrayEquals(weights, model.weights());
            assertEquals(progress, model.replica().step().progress());

            spoil(model, 0); // the loss is finite again, but training stays halted
            float[] mended = model.weights();
            assertFalse(Double.isNaN(model.issue(RATE).get().mean()));
            assertArrayEquals(mended, model.weights());
            assertEquals(progress, model.replica().step().progress());
        }
    }

    /** Sets one value of the last bias to a number. */
    private static void spoil(CudaReplica model, float value) {
        Replica replica = model.replica();
        Tensor bias = replica.model().parameters().stateDict().get("norm.bias");
        replica.model().device().upload(bias.slice(0, 1), MemorySegment.ofArray(new float[] {value}));
    }
}
