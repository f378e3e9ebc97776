package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Messages between rank 0 and the other ranks, along the tree. */
@Execution(ExecutionMode.CONCURRENT)
class TreeMessagesTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(200);

    private static ManyRanks ranks(int count) throws Exception {
        MemoryNetwork network = new MemoryNetwork();
        return new ManyRanks(Stream.generate(network::endpoint).limit(count).toList(), ManyRanks.LIMITS);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static Map<Integer, String> texts(Map<Integer, byte[]> reports) {
        return reports.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, each -> text(each.getValue())));
    }

    private static Map<Integer, String> expected(int count) {
        return IntStream.range(1, count).boxed().collect(Collectors.toMap(rank -> rank, rank -> "of " + rank));
    }

    @Test
    void eachUseOfATopicIsOneExchange() throws Exception {
        int count = 100;
        try (ManyRanks ranks = ranks(count)) {
            List<String> outcomes = ranks.run(job -> {
                RankMessages messages = TreeMessages.of(job);
                for (int use = 0; use < 3; use++) {
                    if (job.rank() == 0) {
                        messages.announce("go", bytes("announcement " + use));
                        assertEquals(expected(count), texts(messages.gather("done", LONG)));
                    } else {
                        assertEquals("announcement " + use, text(messages.await("go", LONG).orElseThrow()));
                        messages.report("done", bytes("of " + job.rank()), Urgency.NORMAL);
                    }
                }
                return "done";
            });
            assertEquals(List.of("done"), outcomes.stream().distinct().toList());
        }
    }

    /** The other reports arrive, although ranks 5 and 90 have not reported. */
    @Test
    void missingRanksAreKnown() throws Exception {
        int count = 100;
        try (ManyRanks ranks = ranks(count)) {
            Map<Integer, String> received = new ConcurrentHashMap<>();
            ranks.run(job -> {
                RankMessages messages = TreeMessages.of(job);
                if (job.rank() == 0) {
                    received.putAll(texts(messages.gather("done", Duration.ofSeconds(5))));
                } else if (job.rank() != 5 && job.rank() != 90) {
                    if (job.rank() == 89) { // a sibling of 90; later than the first part of the reports
                        Thread.sleep(1200);
                    }
                    messages.report("done", bytes("of " + job.rank()), Urgency.NORMAL);
                }
                return null;
            });
            Map<Integer, String> all = new TreeMap<>(expected(count));
            all.keySet().removeAll(List.of(5, 90));
            assertEquals(all, new TreeMap<>(received));
        }
    }

    @Test
    void anUrgentReportEndsTheWait() throws Exception {
        int count = 40;
        try (ManyRanks ranks = ranks(count)) {
            List<String> first = ranks.run(job -> {
                RankMessages messages = TreeMessages.of(job);
                if (job.rank() == 33) {
                    messages.report("done", bytes("the disk is full"), Urgency.URGENT);
                }
                return job.rank() == 0 ? texts(messages.gather("done", LONG)).toString() : "";
            });
            assertEquals("{33=the disk is full}", first.getFirst());
        }
    }

    @Test
    void waitsAreLimited() throws Exception {
        try (ManyRanks ranks = ranks(3)) {
            List<Boolean> empty = ranks.run(job -> job.rank() == 0
                ? TreeMessages.of(job).gather("x", SHORT).isEmpty()
                : TreeMessages.of(job).await("x", SHORT).equals(Optional.empty()));
            assertEquals(List.of(true, true, true), empty);
        }
    }

    @Test
    void aFailureOfTheJobEndsTheWaits() throws Exception {
        try (ManyRanks ranks = ranks(40)) {
            List<String> reasons = ranks.run(job -> {
                RankMessages messages = TreeMessages.of(job);
                if (job.rank() == 39) {
                    job.watch().fail("the reason");
                    return "";
                }
                return assertThrows(CommunicationException.class,
                    () -> {
                        if (job.rank() == 0) {
                            messages.gather("x", LONG);
                        } else {
                            messages.await("x", LONG);
                        }
                    }).getMessage();
            });
            assertTrue(IntStream.range(0, 39).allMatch(rank ->
                reasons.get(rank).equals("rank " + rank + ": the reason")), reasons::toString);
        }
    }

    @Test
    void aJobOfOneRankHasNoMessages() throws Exception {
        assertTrue(RankMessages.ALONE.gather("x", LONG).isEmpty());
        assertThrows(IllegalStateException.class, () -> RankMessages.ALONE.await("x", LONG));
    }
}
