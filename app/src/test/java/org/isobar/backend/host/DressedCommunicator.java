package org.isobar.backend.host;

import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/** A communicator that hands everything on to another: for tests that look on, or make one operation go wrong. */
public abstract class DressedCommunicator implements Communicator {
    private final Communicator inner;

    /** Over {@code inner}. */
    protected DressedCommunicator(Communicator inner) {
        this.inner = inner;
    }

    @Override
    public ProcessGroup group() {
        return inner.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return inner.allReduce(tensor, reduction);
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return inner.allGather(out, in, sizes);
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return inner.reduceScatter(out, in, reduction, sizes);
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return inner.broadcast(tensor, root);
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return inner.send(tensor, peer);
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return inner.receive(tensor, peer);
    }

    @Override
    public Work barrier() {
        return inner.barrier();
    }

    @Override
    public void close() {
        inner.close();
    }
}
