package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.backend.host.ForwardingCommunicator;
import org.isobar.backend.host.GridRanks;
import org.isobar.config.ConfigRequest;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Collectives of two ranks, of which some are slow. */
class CollectiveCalibrationTest {
    private static final int MILLISECONDS = 20;
    private static final long BYTES = 1 << 12;
    private static final long GRADIENTS = 1 << 22;

    private final AtomicInteger small = new AtomicInteger(); // all-reduces
    private final AtomicInteger large = new AtomicInteger();

    @Test
    void whatACollectiveAddsToAStepIsItsTime() throws Exception {
        List<CollectiveTable.Row> rows = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, 2)),
            SlowCollectives::new, (device, job) -> {
                ConfigRequest preset = new ConfigRequest(Path.of("../config/ViT.yaml"), "demo",
                    GridRanks.environment(job.rank(), 2));
                try (CollectiveCalibration collectives = new CollectiveCalibration(device, job, preset,
                    new ModelSizes(32, 1, 2, 2), List.of(BYTES), GRADIENTS)) {
                    collectives.round();
                    return collectives.rows(1);
                }
            }).getFirst();
        assertEquals(List.of(row("allreduce", BYTES), row("allreduce", GRADIENTS), row("allgather", BYTES),
            row("reducescatter", BYTES)), rows.stream().map(row -> row(row.operation(), row.bytes())).toList());
        rows.forEach(row -> assertTrue(row.seconds() > 0, row::toString));
        assertTrue(rows.get(1).seconds() > 0.5e-3 * MILLISECONDS, rows::toString);
        assertTrue(rows.get(2).seconds() > 0.5e-3 * MILLISECONDS, rows::toString);
        assertTrue(small.get() > 4, small::toString);
        assertEquals(small.get(), 2.0 * large.get(), 2, "half as many, rounded up on each rank");
    }

    private static CollectiveTable.Row row(String operation, long bytes) {
        return new CollectiveTable.Row(operation, 1, 2, bytes, 0);
    }

    /** The wait for an all-gather, or for a large all-reduce, is long. */
    private final class SlowCollectives extends ForwardingCommunicator {
        private SlowCollectives(Communicator inner) {
            super(inner);
        }

        @Override
        public Work allGather(Tensor out, Tensor in, long... sizes) {
            return slow(super.allGather(out, in, sizes));
        }

        @Override
        public Work allReduce(Tensor tensor, Reduction reduction) {
            boolean isLarge = tensor.bytes() == GRADIENTS;
            (isLarge ? large : small).incrementAndGet();
            Work work = super.allReduce(tensor, reduction);
            return isLarge ? slow(work) : work;
        }

        private static Work slow(Work work) {
            return new Work() {
                @Override
                public void await() {
                    try {
                        Thread.sleep(MILLISECONDS);
                    } catch (InterruptedException stopped) {
                        throw new IllegalStateException(stopped);
                    }
                    work.await();
                }

                @Override
                public boolean done() {
                    return work.done();
                }
            };
        }
    }
}
