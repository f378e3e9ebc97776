package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.host.HostTensors;
import org.isobar.backend.host.InProcessCommunicator;
import org.isobar.backend.host.InProcessHub;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** The groups that get a communicator, and the communicator of a single rank. */
class CommunicatorsTest {
    private final List<Tensor> copied = new ArrayList<>();

    @Test
    void groupsOfTheSameRanksShareOne() {
        InProcessHub hub = new InProcessHub(Duration.ofSeconds(1));
        ProcessGrid grid = ProcessGrid.fit("tp-cp-dp", 4, 2, 1, 1);
        try (Communicators communicators =
            new Communicators(grid, 3, this::copy, group -> InProcessCommunicator.open(hub, group))) {
            Communicator dp = communicators.along(Axis.DP);
            assertEquals(List.of(1, 3), dp.group().ranks());
            assertSame(dp, communicators.along(Axis.DP, Axis.CP));
            assertSame(dp, communicators.along(Axis.CP, Axis.DP));
            assertEquals(List.of(2, 3), communicators.along(Axis.TP).group().ranks());
            assertInstanceOf(SelfCommunicator.class, communicators.along(Axis.CP));
            assertSame(communicators.along(), communicators.along(Axis.CP, Axis.PP));
            assertEquals(1, communicators.coordinate(Axis.TP));
        }
    }

    private void copy(Tensor out, Tensor in) {
        copied.add(in);
    }

    @Test
    void aRankAloneCopiesAtMost() {
        Communicator self = new SelfCommunicator(new ProcessGroup("tp", List.of(5), 5), this::copy);
        Tensor one = HostTensors.f32(1, 2);
        Tensor other = HostTensors.f32(3, 4);
        self.allReduce(one, Reduction.AVERAGE).await();
        self.allGather(one, one).await();
        self.broadcast(one, 0).await();
        self.barrier().await();
        assertEquals(List.of(), copied);
        self.allGather(other, one).await();
        assertTrue(self.reduceScatter(other, one, Reduction.SUM).done());
        assertEquals(List.of(one, one), copied);
        assertThrows(IllegalArgumentException.class, () -> self.send(one, 0));
        assertThrows(IllegalArgumentException.class, () -> self.allReduce(one, Reduction.SUM.times(.5)));
    }
}
