package org.isobar.backend.cuda.nccl;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Work;

/** What one communicator has issued as one: an operation, or several. */
final class NcclWork implements Work {
    private final NcclCommunicator communicator;
    private NcclStreamOrder.Marks marks;
    private CollectiveCall first;
    private int more;

    /** Nothing issued yet; {@code marks} stand for its beginning and its end. */
    NcclWork(NcclCommunicator communicator, NcclStreamOrder.Marks marks) {
        this.communicator = communicator;
        this.marks = marks;
    }

    /** {@code operation} is part of it. */
    void add(CollectiveCall operation) {
        if (first == null) {
            first = operation;
        } else {
            more++;
        }
    }

    /** The events around it; null when it is done, and they serve another. */
    NcclStreamOrder.Marks marks() {
        return marks;
    }

    /** It is done; gives back its events. */
    NcclStreamOrder.Marks finish() {
        NcclStreamOrder.Marks mine = marks;
        marks = null;
        return mine;
    }

    /** Where in the job this is: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    String place(ProcessGroup group) {
        return NcclCommunicator.place(group, first) + (more > 0 ? " and " + more + " more" : "");
    }

    @Override
    public void await() {
        communicator.await(this);
    }

    @Override
    public boolean done() {
        return communicator.done(this);
    }
}
