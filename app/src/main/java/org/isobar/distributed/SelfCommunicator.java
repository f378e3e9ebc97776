package org.isobar.distributed;

import java.util.function.BiConsumer;

import org.isobar.tensor.Tensor;

/** The communicator of a group of one rank. It copies an input to its output where they differ, and nothing else. */
public final class SelfCommunicator implements Communicator {
    private final ProcessGroup group;
    private final BiConsumer<Tensor, Tensor> copy;

    /** A communicator that uses {@code copy}, {@code (y, x) -> y = x}, where output and input differ. */
    public SelfCommunicator(ProcessGroup group, BiConsumer<Tensor, Tensor> copy) {
        if (group.size() != 1) {
            throw new IllegalArgumentException(group + " has more than one rank");
        }
        this.group = group;
        this.copy = copy;
    }

    @Override
    public ProcessGroup group() {
        return group;
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return scaled(tensor, tensor, reduction);
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return copied(out, in);
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return scaled(out, in, reduction);
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return Work.completed();
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        throw new IllegalArgumentException(group + " has no peer to send to");
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        throw new IllegalArgumentException(group + " has no peer to receive from");
    }

    @Override
    public Work barrier() {
        return Work.completed();
    }

    @Override
    public void close() { }

    /** Refuses factors other than 1: with one rank, averages divide by 1. */
    private Work scaled(Tensor out, Tensor in, Reduction reduction) {
        if (reduction.scale(1) != 1) {
            throw new IllegalArgumentException(group + " cannot scale by " + reduction.scale(1));
        }
        return copied(out, in);
    }

    private Work copied(Tensor out, Tensor in) {
        if (!out.aliases(in)) {
            copy.accept(out, in);
        }
        return Work.completed();
    }
}
