package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import org.isobar.backend.CommBackend;
import org.isobar.backend.cpu.CpuDevice;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** What the processes of a job report if the input is invalid. */
class JobMemberTest {
    private final int port = freePort();

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException none) {
            throw new IllegalStateException(none);
        }
    }

    /** Each of three ranks, as a thread, finds what {@code messages} says; returns what each throws. */
    private List<RuntimeException> outcomes(List<String> messages) throws Exception {
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<RuntimeException>> ranks = IntStream.range(0, 3).mapToObj(rank -> threads.submit(() ->
                assertThrows(RuntimeException.class, () -> run(rank, messages.get(rank))))).toList();
            return List.of(ranks.get(0).get(), ranks.get(1).get(), ranks.get(2).get());
        }
    }

    private void run(int rank, String message) {
        JobMember member = new JobMember(new RankEnvironment(rank, 3, rank, "127.0.0.1", port),
            ProcessGrid.fit("tp-cp-dp", 3, 1, 1, 1), JobSecret.none(), Map.of(), TimeLimits.DEFAULT, CommBackend.HOST);
        try (CpuDevice device = new CpuDevice(1)) {
            member.run(device, _ -> {
                throw new UserException(message);
            });
        }
    }

    @Test
    void oneRankReportsWhatAllFind() throws Exception {
        List<RuntimeException> outcomes = outcomes(List.of("no data", "no data", "no data"));
        assertEquals(UserException.class, outcomes.get(0).getClass());
        for (RuntimeException other : outcomes.subList(1, 3)) {
            assertInstanceOf(JobMember.KnownException.class, other);
        }
    }

    @Test
    void eachRankReportsWhatItAloneFinds() throws Exception {
        for (RuntimeException outcome : outcomes(List.of("no data", "no file", "no disk"))) {
            assertEquals(UserException.class, outcome.getClass());
        }
    }
}
