package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.backend.host.ForwardingCommunicator;
import org.isobar.backend.host.GridRanks;
import org.isobar.config.ConfigRequest;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Work;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Collectives of two ranks, of which all-gathers are slow. */
class AwaitedCollectivesTest {
    private static final int MILLISECONDS = 20;
    private static final long BYTES = 1 << 12;

    @Test
    void whatACollectiveAddsToAStepIsItsTime() throws Exception {
        List<CollectiveTable.Row> rows = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, 2)),
            SlowGathers::new, (device, job) -> {
                ConfigRequest preset = new ConfigRequest(Path.of("../config/ViT.yaml"), "demo",
                    GridRanks.environment(job.rank(), 2));
                try (AwaitedCollectives collectives = new AwaitedCollectives(device, job, preset,
                    new ModelSizes(32, 1, 2, 2), List.of(BYTES))) {
                    collectives.round();
                    return collectives.rows(1);
                }
            }).getFirst();
        assertEquals(List.of("allgather", "allreduce", "reducescatter"),
            rows.stream().map(CollectiveTable.Row::operation).toList());
        rows.forEach(row -> assertEquals(new CollectiveTable.Row(row.operation(), 1, 2, BYTES, row.seconds()), row));
        rows.forEach(row -> assertTrue(row.seconds() > 0, row::toString));
        rows.stream().filter(row -> row.operation().equals("allgather")).forEach(row ->
            assertTrue(row.seconds() > 0.5e-3 * MILLISECONDS, row::toString));
    }

    private static final class SlowGathers extends ForwardingCommunicator {
        private SlowGathers(Communicator inner) {
            super(inner);
        }

        @Override
        public Work allGather(Tensor out, Tensor in, long... sizes) {
            try {
                Thread.sleep(MILLISECONDS);
            } catch (InterruptedException stopped) {
                throw new IllegalStateException(stopped);
            }
            return super.allGather(out, in, sizes);
        }
    }
}
