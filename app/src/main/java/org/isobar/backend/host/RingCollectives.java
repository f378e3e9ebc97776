package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;

/**
 * The collectives of one group over a ring: each rank sends to the next and receives from the previous one, so every
 * link carries (n-1)/n of the data in each half of an all-reduce, however many ranks there are (Patarasuk and Yuan,
 * "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
 *
 * <p>Part p of the data starts at rank p+1, each rank on its way adds its own values to what has come, and rank p ends
 * it: a fixed order, whatever the timing, and computed once, so the same bits reach every rank. Data moves in chunks,
 * {@link #WINDOW} of which are under way at a time. Sending never waits for receiving, so the ring cannot lock up.
 */
final class RingCollectives {
    /** Large enough to make handing over from thread to thread rare; measured. */
    private static final int CHUNK = 1 << 20;
    private static final int WINDOW = 2;

    private final int size;
    private final int index;
    private final SocketWriter next;
    private final SocketReader previous;
    private final MemorySegment arriving;
    private final MemorySegment partial; // two generations of WINDOW chunks, which a later step sends on
    private final long[] sentAs = new long[2 * WINDOW];

    /** The ring of {@code group}; scratch memory comes from {@code arena}. */
    RingCollectives(ProcessGroup group, GroupConnections links, Arena arena) {
        size = group.size();
        index = group.index();
        next = links.next();
        previous = links.previous();
        arriving = arena.allocate(CHUNK, Long.BYTES);
        partial = size > 2 ? arena.allocate(2L * WINDOW * CHUNK, Long.BYTES) : MemorySegment.NULL;
    }

    /** Makes sure that the previous rank has issued the same operation; returns how its differs, or null. */
    String compare(CollectiveCall operation) throws IOException {
        next.send(operation.header(), null);
        ByteBuffer theirs = ByteBuffer.allocate(CollectiveCall.HEADER);
        previous.read(theirs);
        return operation.difference(theirs.flip());
    }

    /** {@code out = combined values of this rank's part of in}. */
    void reduceScatter(MemorySegment out, MemorySegment in, RankSegments parts, ReductionArithmetic combiner)
        throws IOException, InterruptedException {
        long chunks = parts.chunks(CHUNK);
        for (long chunk = 0; chunk < Math.min(WINDOW, chunks); chunk++) {
            next.send(parts.chunk(in, part(-1), chunk, CHUNK));
        }
        for (long first = 0; first < chunks; first += WINDOW) {
            for (int step = 0; step < size - 1; step++) {
                for (long chunk = first; chunk < Math.min(first + WINDOW, chunks); chunk++) {
                    MemorySegment own = parts.chunk(in, part(-2 - step), chunk, CHUNK);
                    if (step < size - 2) {
                        passOn(own, (step & 1) * WINDOW + (int) (chunk - first), combiner);
                    } else {
                        MemorySegment last = arriving.asSlice(0, own.byteSize());
                        previous.read(last);
                        combiner.finish(RankSegments.chunk(out, chunk, CHUNK), last, own);
                        next.send(parts.chunk(in, part(-1), chunk + WINDOW, CHUNK));
                    }
                }
            }
        }
        next.flush();
    }

    /** Receives the sum so far, adds {@code own} and sends it on from place {@code slot} of the scratch memory. */
    private void passOn(MemorySegment own, int slot, ReductionArithmetic combiner) throws IOException,
        InterruptedException {
        MemorySegment sum = partial.asSlice((long) slot * CHUNK, own.byteSize());
        next.awaitSent(sentAs[slot]);
        previous.read(sum);
        combiner.combine(sum, sum, own);
        sentAs[slot] = next.send(sum);
    }

    /** Fills {@code whole}, of which each rank has its own part. */
    void allGather(MemorySegment whole, RankSegments parts) throws IOException, InterruptedException {
        long chunks = parts.chunks(CHUNK);
        for (long chunk = 0; chunk < chunks; chunk++) {
            next.send(parts.chunk(whole, part(0), chunk, CHUNK));
        }
        for (int step = 0; step < size - 1; step++) {
            for (long chunk = 0; chunk < chunks; chunk++) {
                MemorySegment theirs = parts.chunk(whole, part(-1 - step), chunk, CHUNK);
                previous.read(theirs);
                if (step < size - 2) {
                    next.send(theirs);
                }
            }
        }
        next.flush();
    }

    /** Hands {@code data} of rank {@code root} on around the ring. */
    void broadcast(MemorySegment data, int root) throws IOException, InterruptedException {
        for (long chunk = 0; chunk * CHUNK < data.byteSize(); chunk++) {
            MemorySegment bytes = RankSegments.chunk(data, chunk, CHUNK);
            if (index != root) {
                previous.read(bytes);
            }
            if (part(1) != root) {
                next.send(bytes);
            }
        }
        next.flush();
    }

    /**
     * Returns when every rank has called {@link #compare} for this operation: one byte is passed on for each rank but
     * the neighbour, whose header has come.
     */
    void barrier() throws IOException, InterruptedException {
        for (int distance = 2; distance < size; distance++) {
            next.send(ByteBuffer.allocate(1), null);
            previous.read(ByteBuffer.allocate(1));
        }
        next.flush();
    }

    /** The rank, or its part, that lies {@code distance} places further on. */
    private int part(int distance) {
        return Math.floorMod(index + distance, size);
    }
}
