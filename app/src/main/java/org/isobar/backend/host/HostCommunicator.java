package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveSequence;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * What communicators of host memory have in common: they run the operations one after the other, and refuse any further
 * one after a failure. Operations run on a thread of their own, while the caller goes on; one who awaits an operation
 * that has not begun may run it himself, which saves handing it over and back.
 */
abstract class HostCommunicator implements Communicator {
    private final ProcessGroup group;
    private final Duration limit;
    private final Queue<HostWork> queue = new ArrayDeque<>();
    private final ReentrantLock turn = new ReentrantLock(); // whoever has it runs operations
    private final List<HostWork> underway = new ArrayList<>();
    private final CollectiveSequence operations;
    private final HostWork.Listener listener = new WaitListener();
    private List<HostWork> held; // while several are issued as one
    private Thread thread;
    private String failure;

    /** A communicator whose operations take at most {@code limit}. */
    HostCommunicator(ProcessGroup group, Duration limit) {
        this.group = group;
        this.limit = limit;
        operations = new CollectiveSequence(group);
    }

    /** Begins to run operations. */
    final void start() {
        thread = Thread.ofPlatform().daemon().name("isobar-" + group.name() + "-" + group.rank()).start(this::serve);
    }

    /** Runs an operation, and lets it succeed when its tensors are no longer in use; at once or later. */
    abstract void perform(HostWork work) throws IOException, InterruptedException;

    /** Why the job cannot go on, if {@code thrown} comes from a failure that is known or about to be told; or null. */
    abstract String verdict(Exception thrown);

    /** Tells the other ranks of the job that this one cannot go on. */
    abstract void tell(String reason);

    /** The caller is about to wait for {@code work}, and may {@link #runUntil} it. */
    abstract void waiting(HostWork work);

    /** The caller waits no longer. */
    abstract void resumed();

    /** Ends whatever connects this rank to its peers; what is under way fails. */
    abstract void disconnect();

    /** After {@link #disconnect}: returns when nobody touches the memory of this rank's tensors any more. */
    abstract void settle() throws InterruptedException;

    @Override
    public final ProcessGroup group() {
        return group;
    }

    @Override
    public final Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(operations.allReduce(known(tensor), reduction), memory(tensor), memory(tensor));
    }

    @Override
    public final Work allGather(Tensor out, Tensor in, long... sizes) {
        CollectiveCall operation = operations.allGather(known(out), in, sizes);
        return issue(operation, memory(out), sizes[group.index()] == 0 ? MemorySegment.NULL : memory(in));
    }

    @Override
    public final Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        CollectiveCall operation = operations.reduceScatter(out, known(in), reduction, sizes);
        return issue(operation, sizes[group.index()] == 0 ? MemorySegment.NULL : memory(out), memory(in));
    }

    @Override
    public final Work broadcast(Tensor tensor, int root) {
        return issue(operations.broadcast(known(tensor), root), memory(tensor), memory(tensor));
    }

    @Override
    public final Work send(Tensor tensor, int peer) {
        return issue(operations.send(known(tensor), peer), memory(tensor), memory(tensor));
    }

    @Override
    public final Work receive(Tensor tensor, int peer) {
        return issue(operations.receive(known(tensor), peer), memory(tensor), memory(tensor));
    }

    @Override
    public final Work barrier() {
        return issue(operations.barrier(), MemorySegment.NULL, MemorySegment.NULL);
    }

    @Override
    public final Work together(Runnable several) {
        List<HostWork> works = new ArrayList<>();
        held = works;
        try {
            several.run();
        } finally {
            held = null;
        }
        works.stream().sorted(Comparator.comparing(work -> work.call().operation(), CollectiveCall.GROUP_ORDER))
            .forEach(this::begin);
        return Work.all(works);
    }

    @SuppressWarnings("restricted")
    private static MemorySegment memory(Tensor tensor) {
        return MemorySegment.ofAddress(tensor.address()).reinterpret(tensor.bytes());
    }

    /** F16 is of GPUs, whose memory a host cannot reach anyway. */
    private static Tensor known(Tensor tensor) {
        if (tensor.dtype() == DType.F16) {
            throw new IllegalArgumentException("communicators of the host's memory know BF16, F32 and F64, not F16");
        }
        return tensor;
    }

    private Work issue(CollectiveCall operation, MemorySegment out, MemorySegment in) {
        HostWork work = new HostWork(new HostCollective(operation, out, in), group, limit, listener);
        if (held == null) {
            begin(work);
        } else {
            held.add(work);
        }
        return work;
    }

    private synchronized void begin(HostWork work) {
        if (failure != null) {
            throw new CommunicationException(work.place() + ": not begun, because " + failure);
        }
        underway.removeIf(HostWork::done);
        underway.add(work);
        queue.add(work);
        notifyAll();
    }

    private void serve() {
        try {
            while (awaitQueued()) {
                turn.lockInterruptibly();
                runNext(null);
            }
        } catch (InterruptedException closed) {
            assert stopped();
        }
        turn.lock(); // nobody runs an operation when this thread has ended
        turn.unlock();
    }

    /** Waits for an operation; false at the end. */
    private synchronized boolean awaitQueued() throws InterruptedException {
        while (queue.isEmpty() && failure == null) {
            wait();
        }
        return failure == null;
    }

    /** The next operation; none if {@code last} is given and has been taken already. */
    private synchronized HostWork next(HostWork last) {
        return last == null || queue.contains(last) ? queue.poll() : null;
    }

    /** Runs the {@link #next} operation and ends this thread's turn; false if there was none. */
    private boolean runNext(HostWork last) {
        HostWork work = next(last);
        try {
            if (work != null) {
                perform(work);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            collapse(work, interrupted);
        } catch (Exception thrown) {
            collapse(work, thrown);
        } catch (Error thrown) { // of whatever kind: the peers must not be left waiting
            collapse(work, new IllegalStateException(thrown.toString(), thrown));
        } finally {
            turn.unlock();
        }
        return work != null;
    }

    /**
     * Runs what has been issued up to {@code work}, on the thread that awaits it, unless somebody else does: nothing
     * that came after it, which may wait for what this thread does next. No limit is kept; the job's watch has one.
     */
    final void runUntil(HostWork work) {
        boolean more = true;
        while (more && turn.tryLock()) {
            more = runNext(work);
        }
    }

    /** Ends this communicator because of what happened in {@code work}, and the job with it unless it is at its end. */
    final void collapse(HostWork work, Exception thrown) {
        if (stopped()) {
            return;
        }
        String verdict = verdict(thrown);
        if (verdict != null) {
            stop(verdict);
        } else {
            String reason = thrown.getMessage() == null ? thrown.toString() : thrown.getMessage();
            if (refuse(reason)) {
                tell((work == null ? "rank " + group.rank() + ", " + group : work.place()) + ": " + reason);
                disconnect(); // after the others were told: they would blame this rank
            }
        }
    }

    /** Fails every operation that is under way, and every later one, unless that has happened. */
    final void stop(String reason) {
        if (refuse(reason)) {
            disconnect();
        }
    }

    private synchronized boolean refuse(String reason) {
        if (failure != null) {
            return false;
        }
        failure = reason;
        queue.clear();
        notifyAll();
        underway.forEach(work -> work.fail(reason));
        underway.clear();
        return true;
    }

    private synchronized boolean stopped() {
        return failure != null;
    }

    /** After a failure: returns when nobody touches the memory of this rank's tensors any more. */
    private void quiesce() {
        boolean interrupted = false;
        boolean quiet = false;
        while (!quiet) {
            try {
                thread.join();
                settle();
                quiet = true;
            } catch (InterruptedException again) { // no reason to free what threads still touch
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public final void close() {
        if (refuse("the communicator was closed")) {
            thread.interrupt(); // not after a failure, which the thread may be telling the others
            disconnect();
        }
        quiesce();
    }

    /** Connects the threads that await operations with this communicator. */
    private final class WaitListener implements HostWork.Listener {
        @Override
        public void waiting(HostWork work) {
            HostCommunicator.this.waiting(work);
        }

        @Override
        public void resumed() {
            HostCommunicator.this.resumed();
        }

        @Override
        public void timedOut(HostWork work) {
            collapse(work, new CommunicationException("waited for " + limit.toMillis() + " ms in vain"));
        }

        @Override
        public void failed() {
            quiesce();
        }
    }
}
