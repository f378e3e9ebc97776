package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.host.Call.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Job;
import org.isobar.distributed.ProcessGroup;

/**
 * Collectives between processes over TCP: a {@link Ring} for what concerns all ranks, a connection of their own for two
 * that exchange a tensor.
 */
public final class SocketCommunicator extends HostCommunicator {
    private final Job job;
    private final Outlet next;
    private final Inlet previous;
    private final Ring ring;
    private final Map<Integer, Pair> pairs = new HashMap<>();
    private final Caller caller;
    private boolean disconnected;

    /** Who awaits the operations. */
    public enum Caller {
        /** The rank itself: while it does, the job's watch knows that it waits for others. */
        RANK,
        /** A thread that serves the rank, which may compute meanwhile, or tell the watch itself. */
        SERVANT
    }

    private SocketCommunicator(Job job, ProcessGroup group, Caller caller, SocketChannel next,
        SocketChannel previous) {
        super(group, job.limits().stall().plus(job.limits().failure()));
        this.job = job;
        this.caller = caller;
        this.next = outlet(next, group.rankAt(group.index() + 1));
        this.previous = inlet(previous, group.rankAt(group.index() - 1));
        ring = new Ring(group.size(), group.index(), this.next, this.previous, Arena.ofAuto());
    }

    /**
     * Connects this rank with the others of {@code group}, which do the same.
     *
     * @throws CommunicationException if one of them cannot be reached
     */
    public static SocketCommunicator open(Job job, ProcessGroup group) {
        return open(job, group, Caller.RANK);
    }

    /** The same for one who awaits its operations. */
    public static SocketCommunicator open(Job job, ProcessGroup group, Caller caller) {
        String purpose = "ring of " + group;
        try {
            SocketChannel next = job.connect(group.rankAt(group.index() + 1), purpose);
            SocketCommunicator communicator = new SocketCommunicator(job, group, caller, next,
                previous(job, group, purpose, next));
            communicator.start();
            job.watch().onFailure(() -> job.watch().failure().ifPresent(communicator::stop));
            return communicator;
        } catch (IOException unreachable) {
            String reason = "rank " + group.rank() + ", " + group + ": cannot connect to rank "
                + group.rankAt(group.index() + 1) + " (" + unreachable.getMessage() + ")";
            String verdict = job.watch().imminentFailure().orElse(reason);
            job.watch().fail(verdict);
            throw new CommunicationException(verdict, unreachable);
        }
    }

    /** The connection from the rank before; if it does not come, that to the next is closed. */
    private static SocketChannel previous(Job job, ProcessGroup group, String purpose, SocketChannel next)
        throws IOException {
        try {
            return job.accept(group.rankAt(group.index() - 1), purpose);
        } catch (RuntimeException lost) {
            next.close();
            throw lost;
        }
    }

    private Outlet outlet(SocketChannel channel, int peer) {
        return new Outlet(channel, peer, "isobar-" + group().name() + "-" + group().rank() + "-out",
            thrown -> collapse(null, thrown));
    }

    private Inlet inlet(SocketChannel channel, int peer) {
        return new Inlet(channel, peer, job.watch()::progressed);
    }

    @Override
    void perform(HostWork work) throws IOException, InterruptedException {
        Call call = work.call();
        if (call.kind() == Kind.SEND) {
            Outlet out = pair(call.root()).out();
            out.send(call.header(), null);
            out.send(call.in(), work::succeed);
            return;
        }
        if (call.kind() == Kind.RECEIVE) {
            receive(call);
        } else {
            refuse(ring.compare(call), group().index() - 1);
            collect(call);
        }
        work.succeed();
    }

    private void collect(Call call) throws IOException, InterruptedException {
        Parts parts = call.parts();
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

    private Combiner combiner(Call call) {
        return new Combiner(call.dtype(), call.reduction(), group().size());
    }

    private void receive(Call call) throws IOException {
        Inlet in = pair(call.root()).in();
        ByteBuffer header = ByteBuffer.allocate(Call.HEADER);
        in.read(header);
        refuse(call.difference(header.flip()), call.root());
        for (long start = 0; start < call.out().byteSize(); start += Integer.MAX_VALUE) {
            in.read(call.out().asSlice(start, Math.min(Integer.MAX_VALUE, call.out().byteSize() - start)));
        }
    }

    private void refuse(String difference, int peer) {
        if (difference != null) {
            throw new CommunicationException("rank " + group().rankAt(peer) + " " + difference);
        }
    }

    /** The connection with the rank at place {@code peer}, opened by the lower of the two when first used. */
    private Pair pair(int peer) throws IOException {
        Pair pair = pairs.get(peer);
        if (pair == null) {
            int rank = group().rankAt(peer);
            String purpose = "pair of " + group();
            SocketChannel channel = group().index() < peer ? job.connect(rank, purpose) : job.accept(rank, purpose);
            pair = new Pair(outlet(channel, rank), inlet(channel, rank));
            synchronized (pairs) {
                pairs.put(peer, pair);
                if (disconnected) {
                    pair.out().close();
                }
            }
        }
        return pair;
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
    void waiting(String place) {
        if (caller == Caller.RANK) {
            job.watch().waiting(place);
        }
    }

    @Override
    void resumed() {
        if (caller == Caller.RANK) {
            job.watch().resumed();
        }
    }

    @Override
    void disconnect() {
        next.close();
        previous.close();
        synchronized (pairs) {
            disconnected = true;
            pairs.values().forEach(pair -> pair.out().close());
        }
    }

    @Override
    void settle() throws InterruptedException {
        next.join();
        for (Pair pair : pairs.values()) {
            pair.out().join();
        }
    }

    private record Pair(Outlet out, Inlet in) { }
}
