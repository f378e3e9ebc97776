package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;

/**
 * Collectives between processes over TCP: a {@link RingCollectives} for what concerns all ranks, a connection of their
 * own for two that exchange a tensor.
 */
public final class SocketCommunicator extends HostCommunicator {
    private final Job job;
    private final GroupConnections links;
    private final RingCollectives ring;
    private final Awaiter awaiter;

    /** The thread that awaits the operations. */
    public enum Awaiter {
        /** The rank's main thread. While it waits, the failure detector is told that the rank waits for others. */
        RANK_THREAD,
        /** A helper thread. The rank may compute meanwhile, and itself tells the failure detector when it waits. */
        WORKER_THREAD
    }

    private SocketCommunicator(Job job, ProcessGroup group, Awaiter awaiter) {
        super(group, job.limits().stall().plus(job.limits().failure()));
        this.job = job;
        this.awaiter = awaiter;
        links = new GroupConnections(job, group, thrown -> collapse(null, thrown));
        ring = new RingCollectives(group, links, Arena.ofAuto());
    }

    /**
     * Connects this rank with the others of {@code group}, which do the same.
     *
     * @throws CommunicationException if one of them cannot be reached
     */
    public static SocketCommunicator open(Job job, ProcessGroup group) {
        return open(job, group, Awaiter.RANK_THREAD);
    }

    /** The same for one who awaits its operations. */
    public static SocketCommunicator open(Job job, ProcessGroup group, Awaiter awaiter) {
        SocketCommunicator communicator = new SocketCommunicator(job, group, awaiter);
        communicator.start();
        job.watch().onFailure(() -> job.watch().failure().ifPresent(communicator::stop));
        return communicator;
    }

    @Override
    void perform(HostWork work) throws IOException, InterruptedException {
        HostCollective call = work.call();
        if (call.kind() == Kind.SEND) {
            SocketWriter out = links.pair(call.root()).out();
            out.send(call.operation().header(), null);
            out.send(call.in(), work::succeed);
            return;
        }
        if (call.kind() == Kind.RECEIVE) {
            receive(call);
        } else {
            refuse(ring.compare(call.operation()), group().index() - 1);
            collect(call);
        }
        work.succeed();
    }

    private void collect(HostCollective call) throws IOException, InterruptedException {
        RankSegments parts = call.parts();
        MemorySegment out = call.out();
        switch (call.kind()) {
            case ALL_REDUCE -> {
                ring.reduceScatter(parts.of(out, group().index()), out, parts, combiner(call));
                ring.allGather(out, parts);
            }
            case REDUCE_SCATTER -> ring.reduceScatter(out, call.in(), parts, combiner(call));
            case ALL_GATHER -> {
                MemorySegment own = parts.of(out, group().index());
                if (own.byteSize() > 0 && own.address() != call.in().address()) {
                    own.copyFrom(call.in());
                }
                ring.allGather(out, parts);
            }
            case BROADCAST -> ring.broadcast(out, call.root());
            case BARRIER -> ring.barrier();
            default -> throw new AssertionError(call);
        }
    }

    private ReductionArithmetic combiner(HostCollective call) {
        return new ReductionArithmetic(call.operation(), group().size());
    }

    private void receive(HostCollective call) throws IOException {
        SocketReader in = links.pair(call.root()).in();
        ByteBuffer header = ByteBuffer.allocate(CollectiveCall.HEADER);
        in.read(header);
        refuse(call.operation().difference(header.flip()), call.root());
        for (long start = 0; start < call.out().byteSize(); start += Integer.MAX_VALUE) {
            in.read(call.out().asSlice(start, Math.min(Integer.MAX_VALUE, call.out().byteSize() - start)));
        }
    }

    private void refuse(String difference, int peer) {
        if (difference != null) {
            throw new CommunicationException("rank " + group().rankAt(peer) + " " + difference);
        }
    }

    /** A mismatch is this rank's own finding; a broken connection has a cause that another rank may know better. */
    @Override
    String verdict(Exception thrown) {
        return (thrown instanceof IOException ? job.watch().imminentFailure() : job.watch().failure()).orElse(null);
    }

    @Override
    void tell(String reason) {
        job.watch().fail(reason);
    }

    @Override
    void waiting(HostWork work) {
        if (awaiter == Awaiter.RANK_THREAD) {
            job.watch().waiting(work.place());
            runUntil(work);
        }
    }

    @Override
    void resumed() {
        if (awaiter == Awaiter.RANK_THREAD) {
            job.watch().resumed();
        }
    }

    @Override
    void disconnect() {
        links.close();
    }

    @Override
    void settle() throws InterruptedException {
        links.join();
    }
}
