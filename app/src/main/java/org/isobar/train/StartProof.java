package org.isobar.train;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.config.RunConfig;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.telemetry.RunLog;
import org.isobar.tensor.DType;
import org.isobar.train.saving.RunStart;

/**
 * The proof at the start of a job of several ranks that their collectives match. Rank 0 computes it in a thread of its
 * own while data are opened, and all ranks wait for the result.
 */
final class StartProof implements AutoCloseable {
    /** How long rank 0 waits at most, beyond the time for rehearsals, for those that have begun and for the checks. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    private final RunConfig config;
    private final RunLog log;
    private final long start = System.nanoTime();
    private final FutureTask<Timed> proof;
    private volatile boolean closed;

    private record Timed(CollectiveProof.Result result, double seconds) { }

    private StartProof(RunConfig config, DType compute, RunLog log) {
        this.config = config;
        this.log = log;
        proof = new FutureTask<>(() -> new Timed(
            CollectiveProof.ofRoles(config, compute,
                () -> !closed && sinceStart() < config.parallel().proof().toNanos()), sinceStart() / 1e9));
    }

    /**
     * Begins the proof on rank 0 of a job of several ranks, unless it is configured not to.
     *
     * @param compute type of matrix products
     */
    static StartProof begin(RunConfig config, DType compute, RunLog log) {
        StartProof begun = new StartProof(config, compute, log);
        if (config.provesCollectives() && config.ranks().rank() == 0) {
            Thread.ofPlatform().daemon().name("isobar-proof").start(begun.proof);
        }
        return begun;
    }

    private long sinceStart() {
        return System.nanoTime() - start;
    }

    /**
     * Waits for the result; all ranks call this together. Rank 0 logs it.
     *
     * @throws CommunicationException on rank 0 if collectives do not match, and then on all ranks
     */
    void await(Communicators communicators) {
        if (config.provesCollectives() && config.ranks().rank() == 0) {
            try {
                report(proof.get(config.parallel().proof().plus(GRACE).toNanos() - sinceStart(),
                    TimeUnit.NANOSECONDS));
            } catch (TimeoutException late) {
                log.warn(String.format(Locale.ROOT, "Collectives: not checked, because it takes more than %.1f s; %s",
                    sinceStart() / 1e9, complete(config.grid().worldSize())));
            } catch (ExecutionException failed) {
                log.warn("Collectives: not checked, because of " + failed.getCause());
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        }
        RunStart.meet(config, communicators);
    }

    private void report(Timed proven) {
        CollectiveProof.Result result = proven.result;
        result.mismatch().ifPresent(found -> {
            throw new CommunicationException("rank 0: the ranks would issue collectives that do not match: " + found
                + "; please report this; --prove_collectives=0 trains without this check");
        });
        if (result.isSample()) {
            log.warn(line(result, proven.seconds));
        } else {
            log.info(line(result, proven.seconds));
        }
    }

    /** The line of the log about ranks that match. */
    static String line(CollectiveProof.Result result, double seconds) {
        return String.format(Locale.ROOT, result.isSample()
            ? "Collectives: of %2$d rank roles, %3$d were checked and match (%4$.2f s), the others were not for lack "
                + "of time; " + complete(result.ranks())
            : "Collectives of all %1$d ranks match (%4$.2f s)", result.ranks(), result.roles(), result.rehearsed(),
            seconds);
    }

    private static String complete(int ranks) {
        return "./isobar verify --collectives --world_size=" + ranks + " checks all";
    }

    /** Rehearses no further roles. */
    @Override
    public void close() {
        closed = true;
    }
}
