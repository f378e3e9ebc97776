package org.isobar.distributed;

import java.util.function.Supplier;

import org.isobar.tensor.Tensor;

/** Tells a recorder of each operation that one rank issues to its group, and issues it to another communicator. */
public final class RecordingCommunicator implements Communicator {
    private final Communicator issuer;
    private final Recorder recorder;
    private final CollectiveSequence sequence;

    /** Receives what a rank issues, in its order. */
    public interface Recorder {
        /** The rank has opened the communicator of {@code group}. */
        void opened(ProcessGroup group);

        /**
         * The rank issues a call to {@code group}.
         *
         * @param tensor the tensor that the call reads and writes, or its output; null for a barrier
         */
        void issued(ProcessGroup group, CollectiveCall call, Tensor tensor);

        /** The rank waits for a call that it has issued. */
        default void awaited(ProcessGroup group, CollectiveCall call) { }

        /** The rank no longer waits for a call. */
        default void finished(ProcessGroup group, CollectiveCall call) { }
    }

    /** Records what is issued to {@code issuer}, a communicator of at least two ranks that was just opened. */
    public RecordingCommunicator(Communicator issuer, Recorder recorder) {
        this.issuer = issuer;
        this.recorder = recorder;
        sequence = new CollectiveSequence(issuer.group());
        recorder.opened(issuer.group());
    }

    @Override
    public ProcessGroup group() {
        return issuer.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(sequence.allReduce(tensor, reduction), tensor, () -> issuer.allReduce(tensor, reduction));
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return issue(sequence.allGather(out, in, sizes), out, () -> issuer.allGather(out, in, sizes));
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return issue(sequence.reduceScatter(out, in, reduction, sizes), out,
            () -> issuer.reduceScatter(out, in, reduction, sizes));
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return issue(sequence.broadcast(tensor, root), tensor, () -> issuer.broadcast(tensor, root));
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return issue(sequence.send(tensor, peer), tensor, () -> issuer.send(tensor, peer));
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return issue(sequence.receive(tensor, peer), tensor, () -> issuer.receive(tensor, peer));
    }

    @Override
    public Work barrier() {
        return issue(sequence.barrier(), null, issuer::barrier);
    }

    private Work issue(CollectiveCall call, Tensor tensor, Supplier<Work> issued) {
        recorder.issued(group(), call, tensor);
        Work work = issued.get();
        return new Work() {
            @Override
            public void await() {
                recorder.awaited(group(), call);
                work.await();
                recorder.finished(group(), call);
            }

            @Override
            public boolean done() {
                return work.done();
            }
        };
    }

    /** Records the operations in the order in which they are called. */
    @Override
    public Work together(Runnable operations) {
        return issuer.together(operations);
    }

    @Override
    public void close() {
        issuer.close();
    }
}
