package org.isobar.backend.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;

/**
 * Collectives between ranks that are threads of one process: they meet in the {@link InProcessHub}, and each reads from
 * the others' memory. Sums are taken in the order of the {@link RingCollectives}, so they have the same bits.
 */
public final class InProcessCommunicator extends HostCommunicator {
    private static final int CHUNK = 1 << 15;
    private static final int START = 0;
    private static final int REDUCED = 1;
    private static final int END = 2;
    private static final int PAIR = 3;

    private final InProcessHub hub;
    private final Duration limit;
    private final List<Integer> everyone;
    private final MemorySegment sum = Arena.ofAuto().allocate(CHUNK, Long.BYTES);

    private InProcessCommunicator(InProcessHub hub, ProcessGroup group) {
        super(group, hub.limit().multipliedBy(2)); // the exchange times out first, and can name the missing rank
        this.hub = hub;
        limit = hub.limit();
        everyone = IntStream.range(0, group.size()).boxed().toList();
    }

    /** Opens the communicator of one rank of {@code group}. Each member opens its own, once, on the job's hub. */
    public static InProcessCommunicator open(InProcessHub hub, ProcessGroup group) {
        InProcessCommunicator communicator = new InProcessCommunicator(hub, group);
        hub.add(communicator);
        communicator.start();
        return communicator;
    }

    @Override
    void perform(HostWork work) throws InterruptedException {
        switch (work.call().kind()) {
            case SEND -> arrive(work, List.of(group().index(), work.call().root()), PAIR); // the receiver does the rest
            case RECEIVE -> receive(work);
            default -> {
                Map<Integer, HostWork> peers = meet(work, START);
                peers.forEach((peer, theirs) -> compare(work, theirs, peer));
                collect(work, peers);
                work.succeed();
            }
        }
    }

    private InProcessExchange arrive(HostWork work, List<Integer> expected, int phase) {
        return hub.arrive(new InProcessHub.Place(group().ranks(), expected, work.call().operation().number(), phase),
            group().index(), work);
    }

    private Map<Integer, HostWork> meet(HostWork work, int phase) throws InterruptedException {
        return arrive(work, everyone, phase).await(limit, group());
    }

    private void compare(HostWork own, HostWork theirs, int peer) {
        String difference = own.call().operation().difference(theirs.call().operation().header());
        if (difference != null) {
            throw new CommunicationException("rank " + group().rankAt(peer) + " " + difference);
        }
    }

    private void receive(HostWork work) throws InterruptedException {
        int peer = work.call().root();
        HostWork sender = arrive(work, List.of(peer, group().index()), PAIR).await(limit, group()).get(peer);
        compare(work, sender, peer);
        hub.access(group(), List.of(peer), () -> work.call().out().copyFrom(sender.call().in()));
        sender.succeed();
        work.succeed();
    }

    private void collect(HostWork work, Map<Integer, HostWork> peers) throws InterruptedException {
        HostCollective call = work.call();
        RankSegments parts = call.parts();
        MemorySegment out = call.out();
        switch (call.kind()) {
            case ALL_REDUCE -> {
                access(() -> reduce(parts.of(out, group().index()), peers, call));
                meet(work, REDUCED);
                access(() -> everyone.stream().filter(peer -> peer != group().index()).forEach(peer ->
                    parts.of(out, peer).copyFrom(parts.of(peers.get(peer).call().out(), peer))));
            }
            case REDUCE_SCATTER -> access(() -> reduce(out, peers, call));
            case ALL_GATHER -> access(() -> everyone.stream()
                .filter(peer -> call.operation().sizes()[peer] > 0)
                .forEach(peer -> parts.of(out, peer).copyFrom(peers.get(peer).call().in())));
            case BROADCAST -> access(() -> out.copyFrom(peers.get(call.root()).call().in()));
            default -> {
                assert call.kind() == Kind.BARRIER : call;
            }
        }
        meet(work, END); // until then, the others read from this rank's memory
    }

    private void access(Runnable access) {
        hub.access(group(), everyone, access);
    }

    /** {@code out = combined values of this rank's part}: from the next rank around the ring to this one. */
    private void reduce(MemorySegment out, Map<Integer, HostWork> peers, HostCollective call) {
        ReductionArithmetic combiner = new ReductionArithmetic(call.operation(), group().size());
        RankSegments parts = call.parts();
        int self = group().index();
        int size = group().size();
        for (long chunk = 0; chunk * CHUNK < out.byteSize(); chunk++) {
            MemorySegment to = RankSegments.chunk(out, chunk, CHUNK);
            MemorySegment partial = sum.asSlice(0, to.byteSize());
            for (int step = 1; step <= size; step++) {
                HostWork peer = peers.get((self + step) % size);
                MemorySegment theirs = parts.chunk(peer.call().in(), self, chunk, CHUNK);
                if (step == 1) {
                    partial.copyFrom(theirs);
                } else if (step < size) {
                    combiner.combine(partial, partial, theirs);
                } else {
                    combiner.finish(to, partial, theirs);
                }
            }
        }
    }

    @Override
    String verdict(Exception thrown) {
        return null;
    }

    @Override
    void tell(String reason) {
        hub.fail(reason);
    }

    @Override
    void waiting(HostWork work) { }

    @Override
    void resumed() { }

    @Override
    void disconnect() {
        hub.leave(this);
    }

    @Override
    void settle() {
        hub.leave(this);
    }
}
