package org.isobar.distributed;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Checks and numbers the operations that one rank issues to its group. */
public final class CollectiveSequence {
    private static final PartSizes NO_ELEMENTS = new PartSizes();
    private static final int MAX_REMEMBERED = 64; // tensors of different sizes

    private final ProcessGroup group;
    private final long[] sent;
    private final long[] received;
    private final Map<Long, PartSizes> evenParts = new HashMap<>(); // of all-reduces, by number of elements
    private PartSizes lastParts = NO_ELEMENTS; // given by the caller
    private long issued;

    /**
     * A sequence from which nothing has been issued yet.
     *
     * @throws IllegalArgumentException if the group has fewer than two ranks
     */
    public CollectiveSequence(ProcessGroup group) {
        if (group.size() < 2) {
            throw new IllegalArgumentException(group + " has no other rank to communicate with");
        }
        this.group = group;
        sent = new long[group.size()];
        received = new long[group.size()];
    }

    /** {@link Communicator#allReduce}. The elements are divided into parts whose sizes differ by at most one. */
    public CollectiveCall allReduce(Tensor tensor, Reduction reduction) {
        if (evenParts.size() == MAX_REMEMBERED) {
            evenParts.clear();
        }
        return next(Kind.ALL_REDUCE, tensor.dtype(), reduction, 0, evenParts.computeIfAbsent(tensor.elements(),
            elements -> PartSizes.even(elements, group.size())));
    }

    /** {@link Communicator#allGather(Tensor, Tensor, long...)}. */
    public CollectiveCall allGather(Tensor out, Tensor in, long... sizes) {
        return next(Kind.ALL_GATHER, out.dtype(), Reduction.SUM, 0, checked(out, in, sizes));
    }

    /** {@link Communicator#reduceScatter(Tensor, Tensor, Reduction, long...)}. */
    public CollectiveCall reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return next(Kind.REDUCE_SCATTER, in.dtype(), reduction, 0, checked(in, out, sizes));
    }

    /** {@link Communicator#broadcast}. */
    public CollectiveCall broadcast(Tensor tensor, int root) {
        checkIndex(root);
        return next(Kind.BROADCAST, tensor.dtype(), Reduction.SUM, root, new PartSizes(tensor.elements()));
    }

    /** {@link Communicator#send}. */
    public CollectiveCall send(Tensor tensor, int peer) {
        return exchange(Kind.SEND, tensor, peer);
    }

    /** {@link Communicator#receive}. */
    public CollectiveCall receive(Tensor tensor, int peer) {
        return exchange(Kind.RECEIVE, tensor, peer);
    }

    private CollectiveCall exchange(Kind kind, Tensor tensor, int peer) {
        checkIndex(peer);
        if (peer == group.index()) {
            throw new IllegalArgumentException("rank " + group.rank() + " cannot exchange a tensor with itself");
        }
        return next(kind, tensor.dtype(), Reduction.SUM, peer, new PartSizes(tensor.elements()));
    }

    /** {@link Communicator#barrier}. */
    public CollectiveCall barrier() {
        return next(Kind.BARRIER, DType.F32, Reduction.SUM, 0, NO_ELEMENTS);
    }

    private void checkIndex(int index) {
        if (index < 0 || index >= group.size()) {
            throw new IllegalArgumentException("index " + index + " is not in " + group);
        }
    }

    /** For an empty part, any tensor of the right type is accepted, because shapes are never empty. */
    private PartSizes checked(Tensor whole, Tensor part, long... sizes) {
        if (!Arrays.equals(sizes, lastParts.sizes())) {
            lastParts = new PartSizes(sizes.clone());
        }
        long size = sizes.length == group.size() ? sizes[group.index()] : -1;
        if (size < 0 || whole.dtype() != part.dtype() || lastParts.elements() != whole.elements()
            || size > 0 && part.elements() != size) {
            throw new IllegalArgumentException("parts of " + lastParts + " elements for " + group
                + ": the whole tensor is " + whole.shape() + " " + whole.dtype() + ", the part of rank " + group.rank()
                + " " + part.shape() + " " + part.dtype());
        }
        return lastParts;
    }

    private CollectiveCall next(Kind kind, DType dtype, Reduction reduction, int root, PartSizes parts) {
        long number = switch (kind) {
            case SEND -> sent[root]++;
            case RECEIVE -> received[root]++;
            default -> issued++;
        };
        return new CollectiveCall(kind, number, dtype, reduction, root, parts);
    }
}
