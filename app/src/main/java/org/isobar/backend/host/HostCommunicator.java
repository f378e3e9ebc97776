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
 * Base class of communicators for tensors in host memory: a queue of operations that run one at a time, asynchronously
 * to the caller. After a failure it refuses further operations. Operations run on the communicator's own thread. A
 * caller that awaits an operation which has not started may run it on its own thread instead, which avoids two thread
 * switches.
 */
abstract class HostCommunicator implements Communicator {
    private final ProcessGroup group;
    private final Duration limit;
    private final Queue<HostWork> queue = new ArrayDeque<>();
    private final ReentrantLock running = new ReentrantLock(); // held by the thread that runs an operation
    private final List<HostWork> unfinished = new ArrayList<>();
    private final CollectiveSequence sequence;
    private final HostWork.Listener listener = new WaitListener();
    private List<HostWork> together; // works of the group that is being issued; null outside together()
    private Thread thread;
    private String failure;

    /** A communicator whose operations each take at most {@code limit}. */
    HostCommunicator(ProcessGroup group, Duration limit) {
        this.group = group;
        this.limit = limit;
        sequence = new CollectiveSequence(group);
    }

    /** Starts the thread that runs operations. */
    final void start() {
        thread = Thread.ofPlatform().daemon().name("isobar-" + group.name() + "-" + group.rank()).start(this::serve);
    }

    /**
     * Runs an operation. Calls {@link HostWork#succeed} when its tensors are no longer in use, which may be after this
     * method has returned.
     */
    abstract void perform(HostWork work) throws IOException, InterruptedException;

    /** The job's failure that caused {@code thrown}, if one is known or about to be reported; otherwise null. */
    abstract String jobFailure(Exception thrown);

    /** Reports to the other ranks of the job that this rank has failed. */
    abstract void report(String reason);

    /** Is called before a caller waits for {@code work}. May call {@link #runUntil}. */
    abstract void waiting(HostWork work);

    /** Is called when the caller no longer waits. */
    abstract void resumed();

    /** Closes the connections to the peers. Operations that are running fail. */
    abstract void disconnect();

    /** After {@link #disconnect}, waits until no other thread accesses the memory of this rank's tensors. */
    abstract void awaitDisconnected() throws InterruptedException;

    @Override
    public final ProcessGroup group() {
        return group;
    }

    @Override
    public final Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(sequence.allReduce(checked(tensor), reduction), memory(tensor), memory(tensor));
    }

    @Override
    public final Work allGather(Tensor out, Tensor in, long... sizes) {
        CollectiveCall call = sequence.allGather(checked(out), in, sizes);
        return issue(call, memory(out), sizes[group.index()] == 0 ? MemorySegment.NULL : memory(in));
    }

    @Override
    public final Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        CollectiveCall call = sequence.reduceScatter(out, checked(in), reduction, sizes);
        return issue(call, sizes[group.index()] == 0 ? MemorySegment.NULL : memory(out), memory(in));
    }

    @Override
    public final Work broadcast(Tensor tensor, int root) {
        return issue(sequence.broadcast(checked(tensor), root), memory(tensor), memory(tensor));
    }

    @Override
    public final Work send(Tensor tensor, int peer) {
        return issue(sequence.send(checked(tensor), peer), memory(tensor), memory(tensor));
    }

    @Override
    public final Work receive(Tensor tensor, int peer) {
        return issue(sequence.receive(checked(tensor), peer), memory(tensor), memory(tensor));
    }

    @Override
    public final Work barrier() {
        return issue(sequence.barrier(), MemorySegment.NULL, MemorySegment.NULL);
    }

    @Override
    public final Work together(Runnable operations) {
        List<HostWork> works = new ArrayList<>();
        together = works;
        try {
            operations.run();
        } finally {
            together = null;
        }
        works.stream().sorted(Comparator.comparing(work -> work.collective().call(), CollectiveCall.GROUP_ORDER))
            .forEach(this::enqueue);
        return Work.all(works);
    }

    @SuppressWarnings("restricted")
    private static MemorySegment memory(Tensor tensor) {
        return MemorySegment.ofAddress(tensor.address()).reinterpret(tensor.bytes());
    }

    /** Refuses F16, which only tensors on a GPU have. */
    private static Tensor checked(Tensor tensor) {
        if (tensor.dtype() == DType.F16) {
            throw new IllegalArgumentException("communicators for host memory support BF16, F32 and F64, not F16");
        }
        return tensor;
    }

    private Work issue(CollectiveCall call, MemorySegment out, MemorySegment in) {
        HostWork work = new HostWork(new HostCollective(call, out, in), group, limit, listener);
        if (together == null) {
            enqueue(work);
        } else {
            together.add(work);
        }
        return work;
    }

    private synchronized void enqueue(HostWork work) {
        if (failure != null) {
            throw new CommunicationException(work.place() + ": not begun, because " + failure);
        }
        unfinished.removeIf(HostWork::done);
        unfinished.add(work);
        queue.add(work);
        notifyAll();
    }

    private void serve() {
        try {
            while (awaitQueued()) {
                running.lockInterruptibly();
                runNext(null);
            }
        } catch (InterruptedException closed) {
            assert stopped();
        }
        running.lock(); // when this thread ends, no thread runs an operation any more
        running.unlock();
    }

    /** Waits until an operation is queued. Returns false after a failure or close. */
    private synchronized boolean awaitQueued() throws InterruptedException {
        while (queue.isEmpty() && failure == null) {
            wait();
        }
        return failure == null;
    }

    /** Takes the next operation from the queue; null if {@code last} is given and is not in the queue any more. */
    private synchronized HostWork next(HostWork last) {
        return last == null || queue.contains(last) ? queue.poll() : null;
    }

    /** Runs the {@link #next} operation and releases the lock. Returns false if there was none. */
    private boolean runNext(HostWork last) {
        HostWork work = next(last);
        try {
            if (work != null) {
                perform(work);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            fail(work, interrupted);
        } catch (Exception thrown) {
            fail(work, thrown);
        } catch (Error thrown) { // any error: otherwise the peers would wait
            fail(work, new IllegalStateException(thrown.toString(), thrown));
        } finally {
            running.unlock();
        }
        return work != null;
    }

    /**
     * Runs the operations up to and including {@code work} on the calling thread, unless another thread runs them.
     * Later operations are not run, because they may depend on what this thread does next. There is no time limit here;
     * the job's failure detector has one.
     */
    final void runUntil(HostWork work) {
        boolean more = true;
        while (more && running.tryLock()) {
            more = runNext(work);
        }
    }

    /** Stops this communicator because of {@code thrown}, and reports that unless the job has failed already. */
    final void fail(HostWork work, Exception thrown) {
        if (stopped()) {
            return;
        }
        String known = jobFailure(thrown);
        if (known != null) {
            stop(known);
        } else {
            String reason = thrown.getMessage() == null ? thrown.toString() : thrown.getMessage();
            if (refuse(reason)) {
                report((work == null ? "rank " + group.rank() + ", " + group : work.place()) + ": " + reason);
                disconnect(); // after the report: otherwise the peers would blame this rank
            }
        }
    }

    /** Fails all unfinished and all later operations. Has no effect after a failure. */
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
        unfinished.forEach(work -> work.fail(reason));
        unfinished.clear();
        return true;
    }

    private synchronized boolean stopped() {
        return failure != null;
    }

    /** After a failure, waits until no other thread accesses the memory of this rank's tensors. */
    private void quiesce() {
        boolean interrupted = false;
        boolean quiet = false;
        while (!quiet) {
            try {
                thread.join();
                awaitDisconnected();
                quiet = true;
            } catch (InterruptedException again) { // the caller must not free memory that threads still access
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
            thread.interrupt(); // not after a failure: the thread may be reporting it
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
            fail(work, new CommunicationException("waited for " + limit.toMillis() + " ms without completion"));
        }

        @Override
        public void failed() {
            quiesce();
        }
    }
}
