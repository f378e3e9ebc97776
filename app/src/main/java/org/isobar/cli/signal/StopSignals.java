package org.isobar.cli.signal;

import java.util.function.Consumer;

import org.isobar.train.saving.StopRequest;

/**
 * Turns signals into requests to save a checkpoint and stop. Before {@link #arm} a signal terminates the process, as
 * usual. After it, the first signal is a request and later ones are ignored, because one request may arrive more than
 * once: a terminal sends Ctrl-C to all processes, and {@code isobar launch} forwards it as well. A second Ctrl-C at
 * least one second after the first terminates the process at once.
 */
public final class StopSignals implements StopRequest {
    private final Consumer<String> message;
    private final Sender sender;
    private final RepeatedSignal ctrlC = new RepeatedSignal();
    private volatile boolean requested;

    /** Who sends SIGTERM: a launcher sends it for any signal, and reports the signal itself. */
    public enum Sender { ANYONE, LAUNCHER }

    /** {@code message} receives a line for the user when a stop is requested. */
    public StopSignals(Consumer<String> message, Sender sender) {
        this.message = message;
        this.sender = sender;
    }

    @Override
    public void arm() {
        for (ProcessSignal signal : ProcessSignal.values()) {
            signal.handle(() -> receive(signal));
        }
    }

    @Override
    public boolean isRequested() {
        return requested;
    }

    private synchronized void receive(ProcessSignal signal) {
        boolean byUser = signal == ProcessSignal.INT;
        if (byUser && ctrlC.next() == RepeatedSignal.Place.REPEATED) {
            System.exit(signal.exitCode());
        }
        if (!requested) {
            requested = true;
            boolean forwarded = sender == Sender.LAUNCHER && signal == ProcessSignal.TERM;
            message.accept("isobar: " + (forwarded ? "" : signal + ": ") + "saving a checkpoint, then stopping"
                + (byUser ? "; press Ctrl-C again to stop at once" : ""));
        }
    }
}
