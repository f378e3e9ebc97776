package org.isobar.backend.cuda.driver;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.job.Job;

/**
 * How the host waits for a GPU. Alone, it leaves that to the driver. Where other ranks take part, what it waits for may
 * never come: then it looks again and again, asks guards, which throw if they know of that, and lets the job know at
 * which collective the GPU waits for its peers. While the GPU computes, nobody is told that this rank waits.
 */
public final class HostWait {
    private static final int SPINS = 1000;
    private static final long PAUSE_NANOS = 20_000;
    private static final int LOOKS_PER_WORD = 64; // to the job, which listens many times less often

    private final List<Runnable> guards = new CopyOnWriteArrayList<>();
    private final List<Teller> tellers = new CopyOnWriteArrayList<>();

    private record Teller(Job job, Supplier<Optional<String>> place) { }

    /** From now on {@code guard} is asked, on the thread that waits. */
    public void add(Runnable guard) {
        guards.add(guard);
    }

    /** {@code guard} is asked no more. */
    public void remove(Runnable guard) {
        guards.remove(guard);
    }

    /**
     * From now on {@code job} hears where the GPU waits for other ranks, while the host waits for it: at the first
     * place that one of those added here names. It also hears when the host has waited for longer than any computation
     * takes: where collectives are part of a CUDA graph, nobody can name their place.
     */
    public void tell(Job job, Supplier<Optional<String>> place) {
        tellers.add(new Teller(job, place));
    }

    /** {@code place} is asked no more. */
    public void tellNoMore(Supplier<Optional<String>> place) {
        tellers.removeIf(teller -> teller.place == place);
    }

    /**
     * Returns when the work that the event stands for is done; throws what a guard throws. Where the GPU fails, a peer
     * may be the cause: then that is what it throws.
     */
    public void until(CudaEvent event) {
        if (guards.isEmpty()) {
            event.synchronize();
            return;
        }
        long begun = System.nanoTime();
        try {
            for (int look = 0; !event.reached(); look++) {
                guards.forEach(Runnable::run);
                if (look < SPINS) {
                    Thread.onSpinWait();
                } else {
                    if (look % LOOKS_PER_WORD == 0) {
                        tell(System.nanoTime() - begun);
                    }
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        } catch (CudaException failed) {
            throw verdict(failed);
        } finally {
            tellers.stream().findFirst().ifPresent(teller -> teller.job.watch().resumed());
        }
        guards.forEach(Runnable::run);
    }

    private RuntimeException verdict(CudaException failed) {
        Optional<CommunicationException> cause = tellers.stream().findFirst()
            .flatMap(teller -> teller.job.rootCause(failed));
        guards.forEach(Runnable::run); // they know at which operation it is
        return cause.isPresent() ? cause.get() : failed;
    }

    private void tell(long nanos) {
        if (tellers.isEmpty()) {
            return;
        }
        Job job = tellers.getFirst().job;
        Optional<String> place = tellers.stream().map(teller -> teller.place.get()).flatMap(Optional::stream)
            .findFirst();
        place.ifPresentOrElse(job.watch()::waiting, job.watch()::resumed);
        if (nanos > job.limits().stall().toNanos()) {
            job.watch().fail("rank " + job.rank() + " has waited for its GPU for " + job.limits().stall().toSeconds()
                + " s");
        }
    }
}
