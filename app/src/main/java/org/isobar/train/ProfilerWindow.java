package org.isobar.train;

import org.isobar.device.ProfilerRanges;

/** The steps that a profiler records, on rank 0: the fourth epoch except for its last step, as in the tutorial. */
final class ProfilerWindow {
    private static final int EPOCH = 3; // from 0

    private final ProfilerRanges ranges;
    private final boolean profiled;
    private final long stepsPerEpoch;

    /** The window of a run on one rank. */
    ProfilerWindow(ProfilerRanges ranges, int rank, long stepsPerEpoch) {
        this.ranges = ranges;
        this.stepsPerEpoch = stepsPerEpoch;
        profiled = rank == 0;
    }

    /**
     * Starts or stops the profiler before a step.
     *
     * @param finishSteps waits for the steps issued so far; called on all ranks before the window closes, since a loss
     *                    that is not finite makes the ranks communicate
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
