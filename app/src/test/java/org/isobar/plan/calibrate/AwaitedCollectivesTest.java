package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.backend.host.GridRanks;
import org.isobar.config.ConfigRequest;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.machine.CollectiveTable;
import org.junit.jupiter.api.Test;

/** Collectives of two ranks, of which all-gathers are slow. */
class AwaitedCollectivesTest {
    private static final int MILLISECONDS = 20;
    private static final long BYTES = 1 << 12;

    @Test
    void whatACollectiveAddsToAStepIsItsTime() throws Exception {
        List<CollectiveTable.Row> rows = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, 2)),
            AwaitedCollectivesTest::measure).getFirst();
        assertEquals(List.of("allgather", "allreduce", "reducescatter"),
            rows.stream().map(CollectiveTable.Row::operation).toList());
        rows.forEach(row -> assertEquals(new CollectiveTable.Row(row.operation(), 1, 2, BYTES, row.seconds()), row));
        rows.forEach(row -> assertTrue(row.seconds() > 0, row::toString));
        rows.stream().filter(row -> row.operation().equals("allgather")).forEach(row ->
            assertTrue(row.seconds() > 0.5e-3 * MILLISECONDS, row::toString));
    }

    private static List<CollectiveTable.Row> measure(Device device, Communicators job) {
        String rank = "" + job.rank();
        ConfigRequest preset = new ConfigRequest(Path.of("../config/ViT.yaml"), "demo", Map.of("RANK", rank,
            "LOCAL_RANK", rank, "WORLD_SIZE", "2", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500"));
        try (Communicators slow = new Communicators(job.grid(), job.rank(), device.ops().memory()::copy,
            _ -> slow(job.along(Axis.DP)))) {
            return new AwaitedCollectives(device, slow, preset).measure(1,
                new ModelSizes(32, 1, 2, 2), List.of(BYTES), 1);
        }
    }

    private static Communicator slow(Communicator communicator) {
        return (Communicator) Proxy.newProxyInstance(Communicator.class.getClassLoader(),
            new Class<?>[] {Communicator.class}, (_, method, arguments) -> {
                if (method.getName().equals("allGather")) {
                    Thread.sleep(MILLISECONDS);
                }
                try {
                    return method.getName().equals("close") ? null : method.invoke(communicator, arguments);
                } catch (InvocationTargetException failed) {
                    throw failed.getCause();
                }
            });
    }
}
