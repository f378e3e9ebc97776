package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;

/**
 * Collectives between ranks that are threads of one process. For each operation the ranks exchange their calls in the
 * {@link InProcessHub}; then each rank reads from the memory of the others. Values are summed in the order of
 * {@link GroupCollectives}, so the results have the same bits.
 */
public final class InProcessCommunicator extends HostCommunicator {
    private static final int START = 0; // phases of an operation
    private static final int REDUCED = 1;
    private static final int END = 2;
    private static final int PAIR = 3;

    private final InProcessHub hub;
    private final Duration limit;
    private final List<Integer> allIndices;
    private final InProcessReduction reduction;

    private InProcessCommunicator(InProcessHub hub, ProcessGroup group) {
        super(group, hub.limit().multipliedBy(2)); // the exchange times out first, and can name the missing rank
        this.hub = hub;
        limit = hub.limit();
        allIndices = IntStream.range(0, group.size()).boxed().toList();
        reduction = new InProcessReduction(group);
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
        switch (work.collective().kind()) {
            case SEND -> exchange(work, List.of(group().index(), work.collective().root()), PAIR);
            case RECEIVE -> receive(work);
            default -> {
                Map<Integer, HostWork> peers = meet(work, START);
                peers.forEach((peer, theirs) -> compare(work, theirs, peer));
                collect(work, peers);
                work.succeed();
            }
        }
    }

    private InProcessExchange exchange(HostWork work, List<Integer> expected, int phase) {
        long number = work.collective().call().number();
        return hub.join(new InProcessHub.ExchangeKey(group().ranks(), expected, number, phase), group().index(), work);
    }

    private Map<Integer, HostWork> meet(HostWork work, int phase) throws InterruptedException {
        return exchange(work, allIndices, phase).await(limit, group());
    }

    private void compare(HostWork own, HostWork theirs, int peer) {
        String difference = own.collective().call().difference(theirs.collective().call().header());
        if (difference != null) {
            throw new CommunicationException("rank " + group().rankAt(peer) + " " + difference);
        }
    }

    private void receive(HostWork work) throws InterruptedException {
        int peer = work.collective().root();
        HostWork sender = exchange(work, List.of(peer, group().index()), PAIR).await(limit, group()).get(peer);
        compare(work, sender, peer);
        hub.access(group(), List.of(peer), () -> work.collective().out().copyFrom(sender.collective().in()));
        sender.succeed();
        work.succeed();
    }

    private void collect(HostWork work, Map<Integer, HostWork> peers) throws InterruptedException {
        HostCollective collective = work.collective();
        MemorySegment out = collective.out();
        switch (collective.kind()) {
            case ALL_REDUCE -> {
                RankSegments segments = reduction.completed(collective);
                access(() -> reduction.allReduce(segments.of(out, group().index()), collective, in(peers)));
                meet(work, REDUCED);
                access(() -> allIndices.stream().filter(peer -> peer != group().index()).forEach(peer ->
                    segments.of(out, peer).copyFrom(segments.of(peers.get(peer).collective().out(), peer))));
            }
            case REDUCE_SCATTER -> access(() -> reduction.reduceScatter(out, collective, in(peers)));
            case ALL_GATHER -> access(() -> allIndices.stream()
                .filter(peer -> collective.call().sizes()[peer] > 0)
                .forEach(peer -> collective.segments().of(out, peer).copyFrom(peers.get(peer).collective().in())));
            case BROADCAST -> access(() -> out.copyFrom(peers.get(collective.root()).collective().in()));
            default -> {
                assert collective.kind() == Kind.BARRIER : collective;
            }
        }
        meet(work, END); // until then, other ranks read from the memory of this rank
    }

    private static IntFunction<MemorySegment> in(Map<Integer, HostWork> peers) {
        return peer -> peers.get(peer).collective().in();
    }

    private void access(Runnable access) {
        hub.access(group(), allIndices, access);
    }

    @Override
    String jobFailure(Exception thrown) {
        return null;
    }

    @Override
    void report(String reason) {
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
    void awaitDisconnected() {
        hub.leave(this);
    }
}
