package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;

/**
 * Ring collectives of one group: each rank sends to the next and receives from the previous one, so every link carries
 * (n-1)/n of the data in each half of an all-reduce, for n ranks (Patarasuk and Yuan, "Bandwidth optimal all-reduce
 * algorithms for clusters of workstations", 2009).
 *
 * <p>The sum of segment p starts at rank p+1. Each rank on the way adds its own values to those received, and rank p
 * completes the sum. This order is fixed and does not depend on timing. Each sum is computed once, so all ranks receive
 * the same bits. Data moves in chunks, at most {@link #WINDOW} of which are in flight. Sending never waits for
 * receiving, so the ring cannot deadlock.
 */
final class RingCollectives {
    private static final int WINDOW = 2;

    private final int size;
    private final int index;
    private final GroupLinks.Writer next;
    private final GroupLinks.Reader previous;
    private final int chunkBytes;
    private final MemorySegment received; // one chunk
    private final MemorySegment partial; // WINDOW chunks of each of two consecutive steps, being sent
    private final long[] sendNumbers = new long[2 * WINDOW];

    /** The ring of {@code group}; scratch memory for chunks of {@code chunkBytes} comes from {@code arena}. */
    RingCollectives(ProcessGroup group, GroupLinks links, Arena arena, int chunkBytes) {
        size = group.size();
        index = group.index();
        next = links.next();
        previous = links.previous();
        this.chunkBytes = chunkBytes;
        received = arena.allocate(chunkBytes, Long.BYTES);
        partial = size > 2 ? arena.allocate(2L * WINDOW * chunkBytes, Long.BYTES) : MemorySegment.NULL;
    }

    /** Compares a call with that of the previous rank. Returns how they differ, or null if they match. */
    String compare(CollectiveCall call) throws IOException {
        next.send(call.header(), null);
        ByteBuffer header = ByteBuffer.allocate(CollectiveCall.HEADER);
        previous.read(header);
        return call.difference(header.flip());
    }

    /** {@code out = reduction over the ranks of this rank's segment of in}. */
    void reduceScatter(MemorySegment out, MemorySegment in, RankSegments segments, ReductionArithmetic arithmetic)
        throws IOException, InterruptedException {
        long chunks = segments.chunks(chunkBytes);
        for (long chunk = 0; chunk < Math.min(WINDOW, chunks); chunk++) {
            next.send(segments.chunk(in, indexAt(-1), chunk, chunkBytes));
        }
        for (long first = 0; first < chunks; first += WINDOW) {
            for (int step = 0; step < size - 1; step++) {
                for (long chunk = first; chunk < Math.min(first + WINDOW, chunks); chunk++) {
                    MemorySegment own = segments.chunk(in, indexAt(-2 - step), chunk, chunkBytes);
                    if (step < size - 2) {
                        addAndSend(own, (step & 1) * WINDOW + (int) (chunk - first), arithmetic);
                    } else {
                        MemorySegment last = received.asSlice(0, own.byteSize());
                        previous.read(last);
                        arithmetic.finish(RankSegments.chunk(out, chunk, chunkBytes), last, own);
                        next.send(segments.chunk(in, indexAt(-1), chunk + WINDOW, chunkBytes));
                    }
                }
            }
        }
        next.flush();
    }

    /** Receives a partial sum into slot {@code slot} of the scratch memory, adds {@code own} and sends the sum. */
    private void addAndSend(MemorySegment own, int slot, ReductionArithmetic arithmetic) throws IOException,
        InterruptedException {
        MemorySegment sum = partial.asSlice((long) slot * chunkBytes, own.byteSize());
        next.awaitSent(sendNumbers[slot]);
        previous.read(sum);
        arithmetic.combine(sum, sum, own);
        sendNumbers[slot] = next.send(sum);
    }

    /** Fills {@code whole}, of which each rank holds its own segment. */
    void allGather(MemorySegment whole, RankSegments segments) throws IOException, InterruptedException {
        long chunks = segments.chunks(chunkBytes);
        for (long chunk = 0; chunk < chunks; chunk++) {
            next.send(segments.chunk(whole, indexAt(0), chunk, chunkBytes));
        }
        for (int step = 0; step < size - 1; step++) {
            for (long chunk = 0; chunk < chunks; chunk++) {
                MemorySegment theirs = segments.chunk(whole, indexAt(-1 - step), chunk, chunkBytes);
                previous.read(theirs);
                if (step < size - 2) {
                    next.send(theirs);
                }
            }
        }
        next.flush();
    }

    /** Sends {@code data} of the rank with index {@code root} around the ring. */
    void broadcast(MemorySegment data, int root) throws IOException, InterruptedException {
        for (long chunk = 0; chunk * chunkBytes < data.byteSize(); chunk++) {
            MemorySegment bytes = RankSegments.chunk(data, chunk, chunkBytes);
            if (index != root) {
                previous.read(bytes);
            }
            if (indexAt(1) != root) {
                next.send(bytes);
            }
        }
        next.flush();
    }

    /**
     * Waits until every rank has called {@link #compare} for this operation. The header of the previous rank has
     * arrived already; for each of the other ranks, one byte travels around the ring.
     */
    void barrier() throws IOException, InterruptedException {
        for (int distance = 2; distance < size; distance++) {
            next.send(ByteBuffer.allocate(1), null);
            previous.read(ByteBuffer.allocate(1));
        }
        next.flush();
    }

    /** The index in the group at {@code distance} from this rank along the ring; also the index of its segment. */
    private int indexAt(int distance) {
        return Math.floorMod(index + distance, size);
    }
}
