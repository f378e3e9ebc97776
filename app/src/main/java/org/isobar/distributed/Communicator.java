package org.isobar.distributed;

import java.util.Arrays;

import org.isobar.tensor.Tensor;

/**
 * What the ranks of one group can ask of each other. All of them issue the same operations with the same sizes in the
 * same order; the operations run in that order, each when all have issued it, while the caller goes on. A tensor may be
 * sent before its receiver is there to take it. Tensors of an operation are left alone until its {@link Work} is done.
 * BF16, F32 and F64, on a GPU F16 too. There, an operation also comes after all that was computed before it was
 * issued.
 *
 * <p>Results do not depend on timing, and what all ranks receive is the same bits at each.
 *
 * <p>When a rank dies, is stopped or issues something else, every wait ends in a {@link CommunicationException}, and
 * so does every later call. Used by one thread at a time.
 */
public interface Communicator extends AutoCloseable {
    /** The ranks that take part. */
    ProcessGroup group();

    /** {@code tensor = reduction over the ranks of tensor}, the same bits everywhere. */
    Work allReduce(Tensor tensor, Reduction reduction);

    /**
     * {@code out = the ranks' in, one after the other}.
     *
     * @param in    {@code sizes[index]} elements; may be its place in {@code out}
     * @param sizes elements of each rank, the same at all ranks; where zero, {@code in} is any tensor of the type
     */
    Work allGather(Tensor out, Tensor in, long... sizes);

    /**
     * Cuts {@code in} into one part for each rank; {@code out = reduction over the ranks of this rank's part}.
     *
     * @param out   {@code sizes[index]} elements; may be its place in {@code in}, else apart from it
     * @param in    left as it is where {@code out} is not part of it
     * @param sizes elements of each rank, the same at all ranks; where zero, {@code out} is any tensor of the type
     */
    Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes);

    /** {@code tensor = tensor of the rank at place root of the group}. */
    Work broadcast(Tensor tensor, int root);

    /** Hands {@code tensor} to the rank at place {@code peer} of the group, which issues {@link #receive}. */
    Work send(Tensor tensor, int peer);

    /** {@code tensor = what the rank at place peer of the group sends}. */
    Work receive(Tensor tensor, int peer);

    /** Done when every rank has issued it. On a GPU too, {@link Work#await} returns only then. */
    Work barrier();

    /**
     * Issues several operations as one, which may run at the same time; two ranks that send to each other do so in one,
     * in whatever order.
     *
     * @param operations calls this communicator, and leaves the single works alone
     */
    default Work together(Runnable operations) {
        operations.run();
        return barrier();
    }

    /**
     * Ends the threads and connections of this communicator. What is still under way fails, here and at the peers. When
     * it returns, and not before if an operation has failed, the memory of tensors may be freed.
     */
    @Override
    void close();

    /** {@link #allGather(Tensor, Tensor, long...)} of the same number of elements from each. */
    default Work allGather(Tensor out, Tensor in) {
        return allGather(out, in, equal(in.elements()));
    }

    /** {@link #reduceScatter(Tensor, Tensor, Reduction, long...)} into parts of the same number of elements. */
    default Work reduceScatter(Tensor out, Tensor in, Reduction reduction) {
        return reduceScatter(out, in, reduction, equal(out.elements()));
    }

    private long[] equal(long size) {
        long[] sizes = new long[group().size()];
        Arrays.fill(sizes, size);
        return sizes;
    }
}
