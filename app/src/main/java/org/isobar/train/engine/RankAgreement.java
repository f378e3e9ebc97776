package org.isobar.train.engine;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;

import org.isobar.config.RunConfig;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;

/** Messages with which rank 0 makes all ranks use the same engine. Each wait ends after the job's limit. */
final class RankAgreement {
    private final RankMessages messages;
    private final String subject;
    private final int rank;
    private final Duration limit;

    /** @param subject what is agreed on, for error messages */
    RankAgreement(RunConfig config, RankMessages messages, String subject) {
        this.messages = messages;
        this.subject = subject;
        rank = config.ranks().rank();
        limit = config.parallel().limits().stall();
    }

    /** Sends a text from rank 0 to all others. */
    void announce(String topic, String text) {
        messages.announce(topic, bytes(text));
    }

    /** Waits for the text that rank 0 announces. */
    String await(String topic) {
        try {
            return text(messages.await(topic, limit).orElseThrow(() -> new CommunicationException("rank " + rank
                + ": rank 0 has not chosen " + subject + " within " + limit.toSeconds() + " s")));
        } catch (InterruptedException interrupted) {
            throw failure(interrupted);
        }
    }

    /** Tells rank 0 why this rank cannot do what rank 0 proposes; empty if it can. */
    void report(String topic, Optional<String> objection) {
        messages.report(topic, bytes(objection.orElse("")), Urgency.NORMAL);
    }

    /** Waits on rank 0 for the reports of all others; returns the first objection. */
    Optional<String> objection(String topic) {
        return unlike(topic, "");
    }

    /** Waits on rank 0 for the reports of all others; returns the first that is another text than this one. */
    Optional<String> unlike(String topic, String expected) {
        try {
            SortedMap<Integer, byte[]> reports = messages.gather(topic, limit);
            if (reports.size() < messages.ranks() - 1) {
                throw new CommunicationException("rank 0: not all ranks have prepared " + subject + " within "
                    + limit.toSeconds() + " s");
            }
            return reports.entrySet().stream().filter(report -> !text(report.getValue()).equals(expected)).findFirst()
                .map(RankAgreement::named);
        } catch (InterruptedException interrupted) {
            throw failure(interrupted);
        }
    }

    private static String named(Map.Entry<Integer, byte[]> report) {
        return "rank " + report.getKey() + ": " + text(report.getValue());
    }

    private CommunicationException failure(InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        return new CommunicationException("rank " + rank + " was interrupted while the ranks chose " + subject,
            interrupted);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
