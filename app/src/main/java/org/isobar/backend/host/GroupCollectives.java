package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;

/**
 * The collectives of one rank with its group. They go around a ring ({@link RingCollectives}), except all-reduces and
 * barriers of more than {@link #MAX_RING} ranks: the messages of a ring grow with the number of ranks, those of
 * {@link HalvingAllReduce} with its logarithm.
 */
final class GroupCollectives {
    /** The most ranks that reduce around the ring. */
    static final int MAX_RING = 16;
    /** Bytes of a chunk; measured to be large enough that thread switches are rare. */
    private static final int CHUNK = 1 << 20;

    private final ProcessGroup group;
    private final RingCollectives ring;
    private final HalvingAllReduce halving; // null if all collectives go around the ring
    private final MemorySegment token; // one F32, which a barrier reduces

    /** The collectives of {@code group}; scratch memory comes from {@code arena}. */
    GroupCollectives(ProcessGroup group, GroupLinks links, Arena arena) {
        this(group, links, arena, CHUNK);
    }

    /** Collectives that exchange at most {@code chunkBytes} at a time. */
    GroupCollectives(ProcessGroup group, GroupLinks links, Arena arena, int chunkBytes) {
        this.group = group;
        ring = new RingCollectives(group, links, arena, chunkBytes);
        halving = halves(group) ? new HalvingAllReduce(group, links, arena, chunkBytes) : null;
        token = arena.allocate(Float.BYTES);
    }

    /** Whether all-reduces of the group use {@link RecursiveHalving}. */
    static boolean halves(ProcessGroup group) {
        return group.size() > MAX_RING;
    }

    /** Compares a call with that of the previous rank. Returns how they differ, or null if they match. */
    String compare(CollectiveCall call) throws IOException {
        return ring.compare(call);
    }

    /** Runs a collective after it was compared; not a send or a receive. */
    void run(HostCollective collective) throws IOException, InterruptedException {
        MemorySegment out = collective.out();
        switch (collective.kind()) {
            case ALL_REDUCE -> allReduce(collective);
            case REDUCE_SCATTER ->
                ring.reduceScatter(out, collective.in(), collective.segments(), arithmetic(collective));
            case ALL_GATHER -> allGather(collective);
            case BROADCAST -> ring.broadcast(out, collective.root());
            case BARRIER -> {
                if (halving == null) {
                    ring.barrier();
                } else {
                    halving.run(token, Float.BYTES, arithmetic(collective));
                }
            }
            default -> throw new AssertionError(collective);
        }
    }

    private void allReduce(HostCollective collective) throws IOException, InterruptedException {
        MemorySegment out = collective.out();
        if (halving == null) {
            RankSegments segments = collective.segments();
            ring.reduceScatter(segments.of(out, group.index()), out, segments, arithmetic(collective));
            ring.allGather(out, segments);
        } else {
            halving.run(out, collective.call().dtype().bytes(), arithmetic(collective));
        }
    }

    private void allGather(HostCollective collective) throws IOException, InterruptedException {
        RankSegments segments = collective.segments();
        MemorySegment own = segments.of(collective.out(), group.index());
        if (own.byteSize() > 0 && own.address() != collective.in().address()) {
            own.copyFrom(collective.in());
        }
        ring.allGather(collective.out(), segments);
    }

    private ReductionArithmetic arithmetic(HostCollective collective) {
        return new ReductionArithmetic(collective.call(), group.size());
    }
}
