package org.isobar.backend.dryrun;

import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * A communicator without peers for planning one rank's memory: every collective completes immediately and moves no
 * data.
 *
 * @param group the ranks that would take part in a real run
 */
public record DryRunCommunicator(ProcessGroup group) implements Communicator {
    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return Work.completed();
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return Work.completed();
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return Work.completed();
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return Work.completed();
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return Work.completed();
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return Work.completed();
    }

    @Override
    public Work barrier() {
        return Work.completed();
    }

    @Override
    public void close() { }
}
