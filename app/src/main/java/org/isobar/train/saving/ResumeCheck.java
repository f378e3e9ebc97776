package org.isobar.train.saving;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Stream;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.config.RunConfig;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;
import org.isobar.telemetry.RunLog;

/**
 * Checks the files of the checkpoint that a job of several ranks resumes from. Each rank reads its share of them, so
 * that no rank reads all. If one is damaged, rank 0 proposes the next older checkpoint.
 */
public final class ResumeCheck {
    private static final String PROPOSED = "resume from";
    private static final String READ = "resume check";
    private static final long DONE = -1; // no further checkpoint is proposed

    private final RunConfig config;
    private final RankMessages messages;
    private final RunLog log;
    private final int rank;
    private final Map<Path, List<String>> damaged = new LinkedHashMap<>();

    /** The check of one rank; all ranks of the job make one. */
    public ResumeCheck(RunConfig config, RankMessages messages, RunLog log) {
        this.config = config;
        this.messages = messages;
        this.log = log;
        rank = config.ranks().rank();
    }

    /**
     * Checks the checkpoint that rank 0 has found, and older ones where it is damaged, and cuts the log of the run to
     * its length at that time. All ranks call this together.
     *
     * @param found on rank 0; empty on other ranks
     * @return on rank 0 the checkpoint to resume from; empty on other ranks
     * @throws org.isobar.fault.UserException as {@link Resumption#find} does
     */
    public Optional<Resumption> of(Optional<Resumption> found) {
        if (messages.ranks() == 1) {
            return found; // RunDirectory has checked it
        }
        try {
            if (rank > 0) {
                readProposed();
                return Optional.empty();
            }
            Optional<Resumption> sound = propose(found);
            sound.flatMap(Resumption::own).ifPresent(written -> log.cut(written.log()));
            return sound;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("rank " + rank + " was interrupted while checkpoints were checked",
                interrupted);
        }
    }

    private Optional<Resumption> propose(Optional<Resumption> first) throws InterruptedException {
        Set<String> reported = new HashSet<>();
        Optional<Resumption> candidate = first;
        while (candidate.isPresent()) {
            messages.announce(PROPOSED, text(String.valueOf(candidate.get().iteration())));
            List<String> damage = damage(candidate.get().path());
            if (damage.isEmpty()) {
                break;
            }
            if (damaged.isEmpty()) { // RunDirectory has logged these reasons
                Resumption.find(config, SavedState.CONSISTENT, reported::add);
            }
            damaged.put(candidate.get().path(), damage);
            candidate = Resumption.find(config, checkpoint -> damaged.containsKey(checkpoint.path())
                ? damaged.get(checkpoint.path()) : SavedState.CONSISTENT.damage(checkpoint), reason -> {
                    if (reported.add(reason)) {
                        log.warn(reason);
                    }
                });
        }
        messages.announce(PROPOSED, text(String.valueOf(DONE)));
        return candidate;
    }

    /** The damage that all ranks find, in the order of ranks. */
    private List<String> damage(Path path) throws InterruptedException {
        List<String> own = share(path);
        SortedMap<Integer, byte[]> reports = messages.gather(READ, limit());
        List<String> all = Stream.concat(own.stream(), reports.values().stream()
            .flatMap(report -> new String(report, StandardCharsets.UTF_8).lines())).toList();
        if (all.isEmpty() && reports.size() < messages.ranks() - 1) {
            throw new CommunicationException("rank 0: not all ranks have checked their part of " + path + " within "
                + limit().toSeconds() + " s");
        }
        return all;
    }

    private List<String> share(Path path) {
        try (Checkpoint checkpoint = Checkpoint.openChecked(path)) {
            return checkpoint.verify(rank, messages.ranks());
        }
    }

    private void readProposed() throws InterruptedException {
        while (true) {
            long iteration = Long.parseLong(new String(messages.await(PROPOSED, limit()).orElseThrow(() ->
                new CommunicationException("rank " + rank + ": rank 0 has not chosen a checkpoint within "
                    + limit().toSeconds() + " s")), StandardCharsets.UTF_8));
            if (iteration == DONE) {
                return;
            }
            messages.report(READ, text(String.join("\n", share(Resumption.path(config, iteration)))), Urgency.NORMAL);
        }
    }

    private Duration limit() {
        return config.parallel().limits().stall();
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
