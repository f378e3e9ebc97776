package org.isobar.distributed;

import java.util.Arrays;

import org.isobar.tensor.Tensor;

/**
 * Collective and point-to-point operations between the ranks of one group. All ranks must issue the same operations
 * with the same sizes in the same order. Operations run asynchronously and in that order, each as soon as all ranks
 * have issued it. A send may run before its receiver has issued the receive. The caller must not touch the tensors of
 * an operation until its {@link Work} is done. Element types are BF16, F32 and F64, and on a GPU also F16. On a GPU, an
 * operation runs after all computation that was issued before it.
 *
 * <p>Results do not depend on timing. A result that all ranks receive has the same bits on each.
 *
 * <p>When a rank dies, is stopped or issues a different operation, every wait and every later call throws a
 * {@link CommunicationException}. A communicator is used by one thread at a time.
 */
public interface Communicator extends AutoCloseable {
    /** The group of ranks that communicate. */
    ProcessGroup group();

    /** {@code tensor = reduction over the ranks of tensor}, the same bits on every rank. */
    Work allReduce(Tensor tensor, Reduction reduction);

    /**
     * {@code out = concatenation of in of all ranks, in group order}.
     *
     * @param in    {@code sizes[index]} elements; may be the part of {@code out} where it belongs
     * @param sizes number of elements of each rank, the same on all ranks; if this rank has 0, {@code in} is any tensor
     *              of the type
     */
    Work allGather(Tensor out, Tensor in, long... sizes);

    /**
     * Divides {@code in} into one part per rank; {@code out = reduction over the ranks of this rank's part}.
     *
     * @param out   {@code sizes[index]} elements; either this rank's part of {@code in}, or disjoint from {@code in}
     * @param in    not modified outside {@code out}
     * @param sizes number of elements of each rank, the same on all ranks; if this rank has 0, {@code out} is any
     * tensor
     *              of the type
     */
    Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes);

    /** {@code tensor = tensor of the rank with index root in the group}. */
    Work broadcast(Tensor tensor, int root);

    /** Sends {@code tensor} to the rank with index {@code peer} in the group, which issues {@link #receive}. */
    Work send(Tensor tensor, int peer);

    /** {@code tensor = tensor that the rank with index peer in the group sends}. */
    Work receive(Tensor tensor, int peer);

    /** Is done when every rank has issued it. {@link Work#await} returns only then, also on a GPU. */
    Work barrier();

    /**
     * Issues several operations as one group; they may run at the same time. Two ranks that send to each other issue
     * their sends and receives in one group, in any order.
     *
     * @param operations calls methods of this communicator and ignores the {@link Work} that each returns
     */
    default Work together(Runnable operations) {
        operations.run();
        return barrier();
    }

    /**
     * Ends the threads and connections of this communicator. Unfinished operations fail, on this rank and on its peers.
     * If an operation has failed, the memory of its tensors may be freed only after this method has returned.
     */
    @Override
    void close();

    /** {@link #allGather(Tensor, Tensor, long...)} with the same number of elements from each rank. */
    default Work allGather(Tensor out, Tensor in) {
        return allGather(out, in, equalSizes(in.elements()));
    }

    /** {@link #reduceScatter(Tensor, Tensor, Reduction, long...)} into parts of the same number of elements. */
    default Work reduceScatter(Tensor out, Tensor in, Reduction reduction) {
        return reduceScatter(out, in, reduction, equalSizes(out.elements()));
    }

    private long[] equalSizes(long size) {
        long[] sizes = new long[group().size()];
        Arrays.fill(sizes, size);
        return sizes;
    }
}
