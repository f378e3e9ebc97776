package org.isobar.train.step;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.Readback;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * Agreement of all ranks on what to do after a step: the greatest signal that any rank raises. It is reduced while the
 * step computes, and read when the next step has been issued, so that nothing waits for it.
 */
public final class RunSignals {
    private final Device device;
    private final Communicator ranks;
    private final Tensor signal; // (1), F64
    private Readback unread; // of the step issued last, or null
    private long unreadStep;
    private RunSignal agreed = RunSignal.NONE;
    private long agreedStep;

    /** Signals between {@code ranks}, reduced in {@code signal} (1), F64. */
    RunSignals(Device device, Communicator ranks, Tensor signal) {
        this.device = device;
        this.ranks = ranks;
        this.signal = signal;
        raise(RunSignal.NONE);
    }

    /** Sets the signal of this rank for the next step. */
    public void raise(RunSignal mine) {
        device.upload(signal, MemorySegment.ofArray(new double[] {mine.number()}));
    }

    /** Issues the reduction of the signals; part of each training step. */
    Work exchange() {
        return ranks.allReduce(signal, Reduction.MAX);
    }

    /**
     * Step {@code number} of the run was issued: reads what was agreed in the step before, and will read this one's.
     */
    public void issued(long number) {
        settle();
        unread = device.read(signal);
        unreadStep = number;
    }

    /** Reads what was agreed in the last step that was issued; waits for it. */
    public void settle() {
        if (unread != null) {
            agreed = RunSignal.of(unread.await()[0]);
            agreedStep = unreadStep;
            unread = null;
        }
    }

    /** What was agreed in the last step that was read. */
    public RunSignal agreed() {
        return agreed;
    }

    /** The number of that step. */
    public long agreedStep() {
        return agreedStep;
    }

    /** Outside of steps: the greatest signal of all ranks, at once. All ranks call this together. */
    public RunSignal agree(RunSignal mine) {
        raise(mine);
        exchange().await();
        return RunSignal.of(device.read(signal).await()[0]);
    }
}
