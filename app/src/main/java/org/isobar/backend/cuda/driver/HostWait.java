package org.isobar.backend.cuda.driver;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.job.Job;

/**
 * Waits on the host for work of a GPU. Without guards, the driver waits. With other ranks, a failed peer can keep the
 * work from ever finishing. So with guards the host polls the event and runs the guards, which throw if the job has
 * failed, and it reports to the job at which collective the GPU waits for its peers. While the GPU computes, no wait is
 * reported.
 */
public final class HostWait {
    private static final int SPINS = 1000;
    private static final long PAUSE_NANOS = 20_000;
    private static final int POLLS_PER_REPORT = 64; // the job needs reports far less often than this

    private final List<Runnable> guards = new CopyOnWriteArrayList<>();
    private final List<Reporter> reporters = new CopyOnWriteArrayList<>();

    private record Reporter(Job job, Supplier<Optional<String>> place) { }

    /** Adds a guard, which runs on the waiting thread and throws to end the wait. */
    public void addGuard(Runnable guard) {
        guards.add(guard);
    }

    /** Removes a guard. */
    public void removeGuard(Runnable guard) {
        guards.remove(guard);
    }

    /**
     * Reports to {@code job}, during waits of the host, at which collective the GPU waits for other ranks: the first
     * place that a supplier added here returns. A wait that is longer than the job's stall limit fails the job, because
     * collectives inside a CUDA graph have no place that could be reported.
     */
    public void report(Job job, Supplier<Optional<String>> place) {
        reporters.add(new Reporter(job, place));
    }

    /** Removes a supplier that was added by {@link #report}. */
    public void stopReporting(Supplier<Optional<String>> place) {
        reporters.removeIf(reporter -> reporter.place == place);
    }

    /**
     * Returns when the work before {@code event} is done.
     *
     * @throws CommunicationException if a guard throws it, or if a failed peer caused an error of this GPU
     * @throws CudaException          if the GPU has failed
     */
    public void until(CudaEvent event) {
        if (guards.isEmpty()) {
            event.synchronize();
            return;
        }
        long begun = System.nanoTime();
        try {
            for (int polls = 0; !event.reached(); polls++) {
                guards.forEach(Runnable::run);
                if (polls < SPINS) {
                    Thread.onSpinWait();
                } else {
                    if (polls % POLLS_PER_REPORT == 0) {
                        report(System.nanoTime() - begun);
                    }
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        } catch (CudaException failed) {
            throw verdict(failed);
        } finally {
            reporters.stream().findFirst().ifPresent(reporter -> reporter.job.watch().resumed());
        }
        guards.forEach(Runnable::run);
    }

    private RuntimeException verdict(CudaException failed) {
        Optional<CommunicationException> cause = reporters.stream().findFirst()
            .flatMap(reporter -> reporter.job.rootCause(failed));
        guards.forEach(Runnable::run); // a guard can name the operation
        return cause.isPresent() ? cause.get() : failed;
    }

    private void report(long nanos) {
        if (reporters.isEmpty()) {
            return;
        }
        Job job = reporters.getFirst().job;
        Optional<String> place = reporters.stream().map(reporter -> reporter.place.get()).flatMap(Optional::stream)
            .findFirst();
        place.ifPresentOrElse(where -> job.watch().waiting(() -> where), job.watch()::resumed);
        if (nanos > job.limits().stall().toNanos()) {
            job.watch().fail("rank " + job.rank() + " has waited for its GPU for " + job.limits().stall().toSeconds()
                + " s");
        }
    }
}
