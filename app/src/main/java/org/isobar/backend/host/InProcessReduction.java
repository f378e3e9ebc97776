package org.isobar.backend.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntFunction;

import org.isobar.distributed.ProcessGroup;

/** Reduces values that ranks of one process have in memory, in the order of sums of {@link GroupCollectives}. */
final class InProcessReduction {
    private static final int CHUNK = 1 << 15;

    private final int size;
    private final int index;
    private final boolean halves;
    private final MemorySegment scratch; // CHUNK bytes for each step of recursive halving; at least once

    /** The reductions of one rank of {@code group}. */
    InProcessReduction(ProcessGroup group) {
        size = group.size();
        index = group.index();
        halves = GroupCollectives.halves(group);
        scratch = Arena.ofAuto().allocate((long) CHUNK * steps(Integer.highestOneBit(size)), Long.BYTES);
    }

    private static int steps(int power) {
        return Integer.numberOfTrailingZeros(power);
    }

    /** The parts of a tensor that an all-reduce completes on each rank. */
    RankSegments completed(HostCollective allReduce) {
        return halves ? new RankSegments(new RecursiveHalving(size, allReduce.call().elements()).sizes(),
            allReduce.call().dtype().bytes()) : allReduce.segments();
    }

    /** {@code out = reduction of this rank's completed part of an all-reduce}; may be part of this rank's values. */
    void allReduce(MemorySegment out, HostCollective collective, IntFunction<MemorySegment> wholes) {
        reduce(out, completed(collective), collective, wholes, halves);
    }

    /** {@code out = reduction of this rank's part}. */
    void reduceScatter(MemorySegment out, HostCollective collective, IntFunction<MemorySegment> wholes) {
        reduce(out, collective.segments(), collective, wholes, false);
    }

    /** {@code wholes} gives the tensor of the rank with an index. */
    private void reduce(MemorySegment out, RankSegments segments, HostCollective collective,
        IntFunction<MemorySegment> wholes, boolean byHalving) {
        ReductionArithmetic arithmetic = new ReductionArithmetic(collective.call(), size);
        for (long at = 0; at * CHUNK < out.byteSize(); at++) {
            long chunk = at;
            MemorySegment result = RankSegments.chunk(out, chunk, CHUNK);
            IntFunction<MemorySegment> values = rank -> segments.chunk(wholes.apply(rank), index, chunk, CHUNK);
            if (byHalving) {
                halve(result, index, 1, values, arithmetic);
            } else {
                goAround(result, values, arithmetic);
            }
        }
    }

    /** Sums from the next rank around the ring to this rank. */
    private void goAround(MemorySegment result, IntFunction<MemorySegment> values, ReductionArithmetic arithmetic) {
        MemorySegment partial = scratch.asSlice(0, result.byteSize());
        partial.copyFrom(values.apply((index + 1) % size));
        for (int step = 2; step < size; step++) {
            arithmetic.combine(partial, partial, values.apply((index + step) % size));
        }
        arithmetic.finish(result, partial, values.apply(index));
    }

    /** {@code result = the sum that rank has after its step with this distance}. */
    private void halve(MemorySegment result, int rank, int distance, IntFunction<MemorySegment> values,
        ReductionArithmetic arithmetic) {
        int power = Integer.highestOneBit(size);
        if (distance == power) {
            result.copyFrom(values.apply(rank));
            if (rank + power < size) {
                arithmetic.combine(result, result, values.apply(rank + power));
            }
            return;
        }
        MemorySegment theirs = scratch.asSlice((long) CHUNK * steps(distance), result.byteSize());
        halve(result, rank, 2 * distance, values, arithmetic);
        halve(theirs, rank ^ distance, 2 * distance, values, arithmetic);
        if (distance == 1) {
            arithmetic.finish(result, result, theirs);
        } else {
            arithmetic.combine(result, result, theirs);
        }
    }
}
