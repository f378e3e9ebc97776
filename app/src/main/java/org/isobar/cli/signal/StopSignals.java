package org.isobar.cli.signal;

import java.util.function.Consumer;

import org.isobar.train.saving.StopRequest;

/**
 * Signals to this process as requests to save a checkpoint and end. Until it is armed they end the process, as they
 * end any. Then the first is a request, and those that follow are ignored, for one request may come in several ways: a
 * terminal sends its Ctrl-C to all processes, and {@code isobar launch} passes it on besides. A second Ctrl-C, a second
 * later or more, is meant, and ends the process at once.
 */
public final class StopSignals implements StopRequest {
    private final Consumer<String> voice;
    private final RepeatedSignal ctrlC = new RepeatedSignal();
    private volatile boolean requested;

    /** Signals of which {@code voice} tells the user. */
    public StopSignals(Consumer<String> voice) {
        this.voice = voice;
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
        if (byUser && ctrlC.next() == RepeatedSignal.Place.AGAIN) {
            System.exit(signal.exitCode());
        }
        if (!requested) {
            requested = true;
            voice.accept("isobar: " + signal + ": saving a checkpoint, then ending"
                + (byUser ? "; Ctrl-C again ends at once" : ""));
        }
    }
}
