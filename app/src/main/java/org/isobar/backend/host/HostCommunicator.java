package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.isobar.backend.host.Call.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * What communicators of host memory have in common: they check and number the operations, run them one after the other
 * on a thread of their own, and refuse any further one after a failure.
 */
abstract class HostCommunicator implements Communicator {
    private final ProcessGroup group;
    private final Duration limit;
    private final BlockingQueue<HostWork> queue = new LinkedBlockingQueue<>();
    private final List<HostWork> underway = new ArrayList<>();
    private final HostWork end = new HostWork(this, null);
    private final long[] sent;
    private final long[] received;
    private long issued;
    private Thread thread;
    private String failure;

    /** A communicator whose operations take at most {@code limit}. */
    HostCommunicator(ProcessGroup group, Duration limit) {
        if (group.size() < 2) {
            throw new IllegalArgumentException(group + " has nobody to communicate with");
        }
        this.group = group;
        this.limit = limit;
        this.sent = new long[group.size()];
        this.received = new long[group.size()];
    }

    /** Begins to run operations. */
    final void start() {
        thread = Thread.ofPlatform().daemon().name("isobar-" + group.name() + "-" + group.rank()).start(this::serve);
    }

    /** The longest that anybody waits for an operation. */
    final Duration limit() {
        return limit;
    }

    /** Runs an operation, and lets it succeed when its tensors are no longer in use; at once or later. */
    abstract void perform(HostWork work) throws IOException, InterruptedException;

    /** Why the job cannot go on, if {@code thrown} comes from a failure that is known or about to be told; or null. */
    abstract String verdict(Exception thrown);

    /** Tells the other ranks of the job that this one cannot go on. */
    abstract void tell(String reason);

    /** The caller is about to wait at {@code place}. */
    abstract void waiting(String place);

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
        MemorySegment memory = memory(tensor);
        return issue(Kind.ALL_REDUCE, tensor.dtype(), reduction, 0, Parts.even(tensor.elements(), group.size()),
            memory, memory);
    }

    @Override
    public final Work allGather(Tensor out, Tensor in, long... sizes) {
        check(out, in, sizes);
        return issue(Kind.ALL_GATHER, out.dtype(), Reduction.SUM, 0, sizes.clone(), memory(out),
            sizes[group.index()] == 0 ? MemorySegment.NULL : memory(in));
    }

    @Override
    public final Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        check(in, out, sizes);
        return issue(Kind.REDUCE_SCATTER, in.dtype(), reduction, 0, sizes.clone(),
            sizes[group.index()] == 0 ? MemorySegment.NULL : memory(out), memory(in));
    }

    @Override
    public final Work broadcast(Tensor tensor, int root) {
        place(root);
        MemorySegment memory = memory(tensor);
        return issue(Kind.BROADCAST, tensor.dtype(), Reduction.SUM, root, new long[] {tensor.elements()}, memory,
            memory);
    }

    @Override
    public final Work send(Tensor tensor, int peer) {
        return exchange(Kind.SEND, tensor, peer);
    }

    @Override
    public final Work receive(Tensor tensor, int peer) {
        return exchange(Kind.RECEIVE, tensor, peer);
    }

    private Work exchange(Kind kind, Tensor tensor, int peer) {
        place(peer);
        if (peer == group.index()) {
            throw new IllegalArgumentException("rank " + group.rank() + " cannot exchange a tensor with itself");
        }
        MemorySegment memory = memory(tensor);
        return issue(kind, tensor.dtype(), Reduction.SUM, peer, new long[] {tensor.elements()}, memory, memory);
    }

    @Override
    public final Work barrier() {
        return issue(Kind.BARRIER, DType.F32, Reduction.SUM, 0, new long[0], MemorySegment.NULL, MemorySegment.NULL);
    }

    private void place(int index) {
        if (index < 0 || index >= group.size()) {
            throw new IllegalArgumentException("no place " + index + " in " + group);
        }
    }

    /** A part without elements has no tensor of its own: shapes are never empty, so any tensor may stand for it. */
    private void check(Tensor whole, Tensor own, long... sizes) {
        long size = sizes.length == group.size() ? sizes[group.index()] : -1;
        if (size < 0 || whole.dtype() != own.dtype() || Arrays.stream(sizes).sum() != whole.elements()
            || size > 0 && own.elements() != size) {
            throw new IllegalArgumentException("parts of " + Arrays.toString(sizes) + " elements for " + group
                + ": the whole is " + whole.shape() + " " + whole.dtype() + ", the part of rank " + group.rank() + " "
                + own.shape() + " " + own.dtype());
        }
    }

    @SuppressWarnings("restricted")
    private static MemorySegment memory(Tensor tensor) {
        return MemorySegment.ofAddress(tensor.address()).reinterpret(tensor.bytes());
    }

    /** Half precision is of GPUs, whose memory a host cannot reach anyway. */
    private static void requireKnown(DType dtype) {
        if (dtype != DType.F32 && dtype != DType.F64) {
            throw new IllegalArgumentException("communicators of the host's memory know F32 and F64, not " + dtype);
        }
    }

    private synchronized Work issue(Kind kind, DType dtype, Reduction reduction, int root, long[] sizes,
        MemorySegment out, MemorySegment in) {
        requireKnown(dtype);
        long number = switch (kind) {
            case SEND -> sent[root]++;
            case RECEIVE -> received[root]++;
            default -> issued++;
        };
        HostWork work = new HostWork(this, new Call(kind, number, dtype, reduction, root, sizes, out, in));
        if (failure != null) {
            throw new CommunicationException(work.place() + ": not begun, because " + failure);
        }
        underway.removeIf(HostWork::done);
        underway.add(work);
        queue.add(work);
        return work;
    }

    private void serve() {
        HostWork work = null;
        try {
            while (true) {
                work = queue.take();
                if (work == end) {
                    return;
                }
                perform(work);
            }
        } catch (Exception thrown) {
            collapse(work, thrown);
        } catch (Error thrown) { // of whatever kind: the peers must not be left waiting
            collapse(work, new IllegalStateException(thrown.toString(), thrown));
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
        queue.add(end);
        underway.forEach(work -> work.fail(reason));
        underway.clear();
        return true;
    }

    private synchronized boolean stopped() {
        return failure != null;
    }

    /** After a failure: returns when nobody touches the memory of this rank's tensors any more. */
    final void quiesce() {
        try {
            thread.join();
            settle();
        } catch (InterruptedException interrupted) {
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
}
