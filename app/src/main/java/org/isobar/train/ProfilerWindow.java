package org.isobar.train;

import org.isobar.device.ProfilerRanges;

/** Starts and stops the profiler on rank 0: it records the fourth epoch without its last step, as in the tutorial. */
final class ProfilerWindow {
    private static final int EPOCH = 3; // from 0

    private final ProfilerRanges ranges;
    private final boolean profiled;
    private final long stepsPerEpoch;

    /** Creates the window of one rank. */
    ProfilerWindow(ProfilerRanges ranges, int rank, long stepsPerEpoch) {
        this.ranges = ranges;
        this.stepsPerEpoch = stepsPerEpoch;
        profiled = rank == 0;
    }

    /**
     * Starts or stops the profiler before a step, if the step is the first or the last of the profiled epoch.
     *
     * @param finishSteps waits for all issued steps; called on all ranks before the profiler stops, because the ranks
     *                    communicate if a loss is not finite
     */
    void stepBegins(TrainingProgress progress, Runnable finishSteps) {
        if (progress.epoch() != EPOCH) {
            return;
        }
        if (progress.step() == 0 && profiled) {
            ranges.startProfiler();
        }
        if (progress.step() == stepsPerEpoch - 1) {
            finishSteps.run();
            if (profiled) {
                ranges.stopProfiler();
            }
        }
    }
}
