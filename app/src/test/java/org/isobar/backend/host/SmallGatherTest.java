package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.Rendezvous;
import org.junit.jupiter.api.Test;

/** Failures during a gather of a few bytes. */
class SmallGatherTest {
    /** The peer has connected, so that only the read can end the gather. */
    @Test
    void noPeerIsAwaitedAfterAFailure() throws Exception {
        ProcessGroup group = new ProcessGroup("dp", List.of(0, 1), 0);
        int port = FreePorts.one();
        CompletableFuture<Job> other = CompletableFuture.supplyAsync(() -> join(1, port), Thread::startVirtualThread);
        try (Job job = join(0, port);
            Job silent = other.join();
            SocketChannel _ = silent.connect(0, "gather 0 of " + group.id());
            SocketChannel _ = silent.connect(0, "afterwards");
            SocketChannel _ = job.accept(1, "afterwards")) {
            job.watch().fail("rank 2 is lost");
            String message = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> assertThrows(IOException.class,
                () -> SmallGather.gather(job, group, ByteBuffer.allocate(1)))).getMessage();
            assertTrue(message.contains("rank 2 is lost"), message);
        }
    }

    private static Job join(int rank, int port) {
        return Rendezvous.join(new RankEnvironment(rank, 2, 0, "127.0.0.1", port), JobSecret.none(), Map.of(),
            Ranks.LONG);
    }
}
