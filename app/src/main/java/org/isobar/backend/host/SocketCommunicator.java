package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;

/**
 * Collectives between processes over TCP: {@link GroupCollectives}, and one connection per pair of ranks for sends and
 * receives.
 */
public final class SocketCommunicator extends HostCommunicator {
    private final Job job;
    private final GroupConnections connections;
    private final GroupCollectives collectives;
    private final Awaiter awaiter;
    private volatile FailureDetector.Registration registration = () -> { };

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
        connections = new GroupConnections(job, group, true, thrown -> fail(null, thrown));
        collectives = new GroupCollectives(group, connections, Arena.ofAuto());
    }

    /**
     * Opens the communicator of this rank in {@code group}. All ranks of the group call this at the same time.
     *
     * @throws CommunicationException if one of them cannot be reached
     */
    public static SocketCommunicator open(Job job, ProcessGroup group) {
        return open(job, group, Awaiter.RANK_THREAD);
    }

    /** Like {@link #open(Job, ProcessGroup)}, with operations that {@code awaiter} awaits. */
    public static SocketCommunicator open(Job job, ProcessGroup group, Awaiter awaiter) {
        SocketCommunicator communicator = new SocketCommunicator(job, group, awaiter);
        communicator.start();
        communicator.registration = job.watch().onFailure(() -> job.watch().failure().ifPresent(communicator::stop));
        return communicator;
    }

    @Override
    void perform(HostWork work) throws IOException, InterruptedException {
        HostCollective collective = work.collective();
        if (collective.kind() == Kind.SEND) {
            SocketWriter out = connections.pair(collective.root()).out();
            out.send(collective.call().header(), null);
            out.send(collective.in(), work::succeed);
            return;
        }
        if (collective.kind() == Kind.RECEIVE) {
            receive(collective);
        } else {
            throwOnMismatch(collectives.compare(collective.call()), group().index() - 1);
            collectives.run(collective);
        }
        work.succeed();
    }

    private void receive(HostCollective collective) throws IOException {
        SocketReader in = connections.pair(collective.root()).in();
        ByteBuffer header = ByteBuffer.allocate(CollectiveCall.HEADER);
        in.read(header);
        throwOnMismatch(collective.call().difference(header.flip()), collective.root());
        for (long start = 0; start < collective.out().byteSize(); start += Integer.MAX_VALUE) {
            in.read(collective.out().asSlice(start, Math.min(Integer.MAX_VALUE, collective.out().byteSize() - start)));
        }
    }

    private void throwOnMismatch(String difference, int peer) {
        if (difference != null) {
            throw new CommunicationException("rank " + group().rankAt(peer) + " " + difference);
        }
    }

    /** After a broken connection, waits for the report of another rank that may know the cause. */
    @Override
    String jobFailure(Exception thrown) {
        return (thrown instanceof IOException ? job.watch().imminentFailure() : job.watch().failure()).orElse(null);
    }

    @Override
    void report(String reason) {
        job.watch().fail(reason);
    }

    @Override
    void waiting(HostWork work) {
        if (awaiter == Awaiter.RANK_THREAD) {
            job.watch().waiting(work::place);
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
        connections.close();
        registration.close();
    }

    @Override
    void awaitDisconnected() throws InterruptedException {
        connections.join();
    }
}
