package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

import org.isobar.distributed.ProcessGroup;

/**
 * An all-reduce whose messages grow with the logarithm of the number of ranks: a reduce-scatter by
 * {@link RecursiveHalving}, then an all-gather by recursive doubling, which goes the same way back (Thakur,
 * Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005). With {@code p} ranks,
 * a power of two, a rank sends at most {@code 2 log2 p} messages and {@code 2 (p-1)/p} times the tensor; with other
 * numbers, up to two messages and one tensor more. A tensor of one element goes up and down a binomial tree.
 *
 * <p>The order of sums depends only on the number of ranks. The sum of an element is completed on one rank, so all
 * ranks receive the same bits.
 */
final class HalvingAllReduce {
    private static final long MAX_READ = 1 << 30;

    private final int size;
    private final int index;
    private final GroupLinks links;
    private final MemorySegment received; // one chunk

    /** The all-reduces of {@code group}; scratch memory for {@code chunk} bytes comes from {@code arena}. */
    HalvingAllReduce(ProcessGroup group, GroupLinks links, Arena arena, int chunk) {
        size = group.size();
        index = group.index();
        this.links = links;
        received = arena.allocate(chunk, Long.BYTES);
    }

    /** Replaces {@code data} by the reduction over the ranks. */
    void run(MemorySegment data, int elementBytes, ReductionArithmetic arithmetic) throws IOException,
        InterruptedException {
        RecursiveHalving halving = new RecursiveHalving(size, data.byteSize() / elementBytes);
        int power = halving.power();
        if (index >= power) {
            send(index - power, data);
            receive(index - power, data);
            links.partner(index - power).out().flush();
            return;
        }
        boolean paired = index + power < size;
        if (paired) {
            add(index + power, data, arithmetic::combine);
        }
        for (int distance = power / 2; distance >= 1; distance /= 2) {
            send(index ^ distance, kept(data, halving, index ^ distance, distance));
            add(index ^ distance, kept(data, halving, index, distance),
                distance == 1 ? arithmetic::finish : arithmetic::combine);
        }
        for (int distance = 1; distance < power; distance *= 2) {
            send(index ^ distance, kept(data, halving, index, distance));
            receive(index ^ distance, kept(data, halving, index ^ distance, distance));
        }
        if (paired) {
            send(index + power, data);
            links.partner(index + power).out().flush();
        }
        for (int distance = 1; distance < power; distance *= 2) {
            links.partner(index ^ distance).out().flush();
        }
    }

    private static MemorySegment kept(MemorySegment data, RecursiveHalving halving, int index, int distance) {
        long elementBytes = data.byteSize() / halving.elements();
        long start = halving.start(index, distance);
        return data.asSlice(start * elementBytes, (halving.end(index, distance) - start) * elementBytes);
    }

    private void send(int peer, MemorySegment bytes) throws IOException {
        if (bytes.byteSize() > 0) {
            links.partner(peer).out().send(bytes);
        }
    }

    private void receive(int peer, MemorySegment out) throws IOException {
        for (long chunk = 0; chunk * MAX_READ < out.byteSize(); chunk++) {
            links.partner(peer).in().read(RankSegments.chunk(out, chunk, MAX_READ));
        }
    }

    /** Receives values and adds them to {@code own}. */
    private void add(int peer, MemorySegment own, Sum sum) throws IOException {
        for (long chunk = 0; chunk * received.byteSize() < own.byteSize(); chunk++) {
            MemorySegment values = RankSegments.chunk(own, chunk, received.byteSize());
            MemorySegment theirs = received.asSlice(0, values.byteSize());
            links.partner(peer).in().read(theirs);
            sum.apply(values, values, theirs);
        }
    }

    /** An operation of {@link ReductionArithmetic}. */
    @FunctionalInterface
    private interface Sum {
        void apply(MemorySegment out, MemorySegment own, MemorySegment theirs);
    }
}
