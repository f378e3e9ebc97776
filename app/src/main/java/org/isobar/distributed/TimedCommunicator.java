package org.isobar.distributed;

import java.util.function.Supplier;

import org.isobar.device.ProfilerRanges;
import org.isobar.tensor.Tensor;

/** Calls a listener around each wait of the host for an operation of another communicator. */
public final class TimedCommunicator implements Communicator {
    private final Communicator issuer;
    private final Supplier<ProfilerRanges.Range> waits;

    /**
     * Observes the waits of {@code issuer}.
     *
     * @param waits called when a wait begins; what it returns is closed when the wait ends
     */
    public TimedCommunicator(Communicator issuer, Supplier<ProfilerRanges.Range> waits) {
        this.issuer = issuer;
        this.waits = waits;
    }

    @Override
    public ProcessGroup group() {
        return issuer.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return timed(issuer.allReduce(tensor, reduction));
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return timed(issuer.allGather(out, in, sizes));
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return timed(issuer.reduceScatter(out, in, reduction, sizes));
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return timed(issuer.broadcast(tensor, root));
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return timed(issuer.send(tensor, peer));
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return timed(issuer.receive(tensor, peer));
    }

    @Override
    public Work barrier() {
        return timed(issuer.barrier());
    }

    @Override
    public Work together(Runnable operations) {
        return timed(issuer.together(operations));
    }

    private Work timed(Work work) {
        return new Work() {
            @Override
            public void await() {
                try (ProfilerRanges.Range _ = waits.get()) {
                    work.await();
                }
            }

            @Override
            public boolean done() {
                return work.done();
            }
        };
    }

    @Override
    public void close() {
        issuer.close();
    }
}
