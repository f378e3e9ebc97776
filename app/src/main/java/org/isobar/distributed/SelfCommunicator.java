package org.isobar.distributed;

import java.util.function.BiConsumer;

import org.isobar.tensor.Tensor;

/** The communicator of a rank that is alone in its group: everything is already where it belongs. */
public final class SelfCommunicator implements Communicator {
    private final ProcessGroup group;
    private final BiConsumer<Tensor, Tensor> copy;

    /** Uses {@code copy}, {@code (y, x) -> y = x}, where something is asked for in another place. */
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

    /** A factor other than 1 makes no sense for a rank alone: nothing is averaged over ranks that are not there. */
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
