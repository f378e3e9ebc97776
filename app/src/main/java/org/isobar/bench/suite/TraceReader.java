package org.isobar.bench.suite;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.bench.measure.Timing;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.telemetry.TutorialLines;

/** Extracts times, memory and CPU time from the log of a run while it is written. */
final class TraceReader implements WatchedProcess.Listener {
    private static final Pattern EPOCH = Pattern.compile("Time taken for epoch (\\d+) is [\\d.]+ sec, avg ([\\d.]+) ");
    private static final String SECOND_STEP = " Memory usage after forward pass: ";

    private final Run run;
    private final Timing timing;
    private final List<TrainingTrace.Epoch> epochs = new ArrayList<>();
    private Double loopSeconds;
    private Double stepSeconds;

    /**
     * Settings of a run.
     *
     * @param split parallel axis of the ranks
     * @param batch samples per step
     * @param steps steps per epoch
     */
    record Run(String config, String split, int ranks, int batch, int steps) { }

    TraceReader(Run run, Timing timing) {
        this.run = run;
        this.timing = timing;
    }

    @Override
    public synchronized void line(String text, double seconds, Supplier<WatchedProcess.Usage> usage) {
        if (text.endsWith(TutorialLines.trainingStarts())) {
            loopSeconds = measured(seconds);
        } else if (text.contains(SECOND_STEP) && stepSeconds == null) {
            stepSeconds = measured(seconds);
        }
        Matcher epoch = EPOCH.matcher(text);
        if (epoch.find()) {
            int number = Integer.parseInt(epoch.group(1));
            WatchedProcess.Usage used = timing == Timing.MEASURED ? usage.get() : null;
            epochs.add(new TrainingTrace.Epoch(number, (long) number * run.steps,
                measured(run.batch / Double.parseDouble(epoch.group(2))),
                used == null ? null : used.memory().anonymous(), used == null ? null : used.cpuSeconds()));
        }
    }

    private Double measured(double seconds) {
        return timing == Timing.MEASURED ? Double.valueOf(seconds) : null;
    }

    /** The trace so far. */
    synchronized TrainingTrace trace() {
        return new TrainingTrace(run.config, run.split, run.ranks, loopSeconds, stepSeconds, List.copyOf(epochs));
    }
}
