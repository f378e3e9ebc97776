package org.isobar.exercise.api;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * A group of ranks, as one of them sees it. All ranks of the group must issue the same operations with the same sizes
 * in the same order.
 */
public final class RankGroup {
    private final Communicator communicator;

    /** An operation that was started and may not be done. */
    public interface Started {
        /** Returns when the operation is done and its values can be read. */
        void await();
    }

    /** The group that {@code communicator} connects. */
    public RankGroup(Communicator communicator) {
        this.communicator = communicator;
    }

    /** This rank, from 0. */
    public int rank() {
        return communicator.group().index();
    }

    /** Number of ranks. */
    public int size() {
        return communicator.group().size();
    }

    /**
     * Replaces {@code values} by their sum over all ranks, and returns when that is done.
     *
     * @throws org.isobar.distributed.CommunicationException if another rank fails, or issues something else
     */
    public void allReduce(float[] values) {
        startAllReduce(values).await();
    }

    /**
     * Starts to sum {@code values} over all ranks. They must not be read or written until {@link Started#await}, which
     * replaces them by the sum.
     */
    public Started startAllReduce(float[] values) {
        MemorySegment memory = Arena.ofAuto().allocate((long) values.length * Float.BYTES, Float.BYTES);
        memory.copyFrom(MemorySegment.ofArray(values));
        Work work = communicator.allReduce(
            new Tensor(new HostStorage(memory), 0, DType.F32, Shape.of(values.length)), Reduction.SUM);
        return () -> {
            work.await();
            MemorySegment.ofArray(values).copyFrom(memory);
        };
    }
}
