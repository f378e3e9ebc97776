package org.isobar.distributed;

import java.util.Arrays;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** The operations that one rank issues to its group: checks what is asked for, and numbers it. */
public final class CollectiveSequence {
    private static final long[] NOTHING = {};

    private final ProcessGroup group;
    private final long[] sent;
    private final long[] received;
    private long issued;

    /** None issued yet. */
    public CollectiveSequence(ProcessGroup group) {
        if (group.size() < 2) {
            throw new IllegalArgumentException(group + " has nobody to communicate with");
        }
        this.group = group;
        sent = new long[group.size()];
        received = new long[group.size()];
    }

    /** {@link Communicator#allReduce}; its sizes are those of parts that differ by one element at most. */
    public CollectiveCall allReduce(Tensor tensor, Reduction reduction) {
        long elements = tensor.elements();
        long[] sizes = new long[group.size()];
        Arrays.setAll(sizes, part -> elements / sizes.length + (part < elements % sizes.length ? 1 : 0));
        return next(Kind.ALL_REDUCE, tensor.dtype(), reduction, 0, sizes);
    }

    /** {@link Communicator#allGather(Tensor, Tensor, long...)}. */
    public CollectiveCall allGather(Tensor out, Tensor in, long... sizes) {
        check(out, in, sizes);
        return next(Kind.ALL_GATHER, out.dtype(), Reduction.SUM, 0, sizes.clone());
    }

    /** {@link Communicator#reduceScatter(Tensor, Tensor, Reduction, long...)}. */
    public CollectiveCall reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        check(in, out, sizes);
        return next(Kind.REDUCE_SCATTER, in.dtype(), reduction, 0, sizes.clone());
    }

    /** {@link Communicator#broadcast}. */
    public CollectiveCall broadcast(Tensor tensor, int root) {
        place(root);
        return next(Kind.BROADCAST, tensor.dtype(), Reduction.SUM, root, tensor.elements());
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
        place(peer);
        if (peer == group.index()) {
            throw new IllegalArgumentException("rank " + group.rank() + " cannot exchange a tensor with itself");
        }
        return next(kind, tensor.dtype(), Reduction.SUM, peer, tensor.elements());
    }

    /** {@link Communicator#barrier}. */
    public CollectiveCall barrier() {
        return next(Kind.BARRIER, DType.F32, Reduction.SUM, 0, NOTHING);
    }

    private void place(int index) {
        if (index < 0 || index >= group.size()) {
            throw new IllegalArgumentException("no place " + index + " in " + group);
        }
    }

    /** A part without elements has no tensor of its own: shapes are never empty, so any tensor may stand for it. */
    private void check(Tensor whole, Tensor own, long... sizes) {
        long size = sizes.length == group.size() ? sizes[group.index()] : -1;
        if (size < 0 || whole.dtype() != own.dtype() || Arrays.stream(sizes).sum() != whole.elements()
            || size > 0 && own.elements() != size) {
            throw new IllegalArgumentException("parts of " + Arrays.toString(sizes) + " elements for " + group
                + ": the whole is " + whole.shape() + " " + whole.dtype() + ", the part of rank " + group.rank() + " "
                + own.shape() + " " + own.dtype());
        }
    }

    private CollectiveCall next(Kind kind, DType dtype, Reduction reduction, int root, long... sizes) {
        long number = switch (kind) {
            case SEND -> sent[root]++;
            case RECEIVE -> received[root]++;
            default -> issued++;
        };
        return new CollectiveCall(kind, number, dtype, reduction, root, sizes);
    }
}
