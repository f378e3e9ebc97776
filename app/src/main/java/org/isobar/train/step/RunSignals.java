package org.isobar.train.step;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.Readback;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * Agreement of all ranks on what to do after a step: the greatest signal that any rank raises. The reduction overlaps
 * the step. The result is read after the next step has been issued, so that the device does not become idle.
 */
public final class RunSignals {
    private final Device device;
    private final Communicator ranks;
    private final Tensor signal; // (1), F64
    private Readback unread; // the signal of the step issued last, or null if it has been read
    private long unreadStep;
    private RunSignal agreed = RunSignal.NONE;
    private long agreedStep;

    /** Reduces signals over {@code ranks} in {@code signal} (1), F64. */
    RunSignals(Device device, Communicator ranks, Tensor signal) {
        this.device = device;
        this.ranks = ranks;
        this.signal = signal;
        raise(RunSignal.NONE);
    }

    /** Sets this rank's signal for the next step. */
    public void raise(RunSignal own) {
        device.upload(signal, MemorySegment.ofArray(new double[] {own.number()}));
    }

    /** Issues the reduction of the signals; called in each training step. */
    Work exchange() {
        return ranks.allReduce(signal, Reduction.MAX);
    }

    /**
     * Reads the signal agreed in the previous step, and requests that of step {@code number} of the run, which has just
     * been issued.
     */
    public void issued(long number) {
        settle();
        unread = device.read(signal);
        unreadStep = number;
    }

    /** Waits for the last issued step and reads the signal agreed in it. */
    public void settle() {
        if (unread != null) {
            agreed = RunSignal.of(unread.await()[0]);
            agreedStep = unreadStep;
            unread = null;
        }
    }

    /** The signal agreed in the last step that was read. */
    public RunSignal agreed() {
        return agreed;
    }

    /** The number of the step in which {@link #agreed} was agreed. */
    public long agreedStep() {
        return agreedStep;
    }

    /** Returns the greatest signal of all ranks immediately, outside of steps. All ranks must call this together. */
    public RunSignal agree(RunSignal own) {
        raise(own);
        exchange().await();
        return RunSignal.of(device.read(signal).await()[0]);
    }
}
