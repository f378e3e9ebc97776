package org.isobar.bench.measure;

import java.util.List;

/**
 * Times and memory of the processes of {@code isobar train}, observed from outside.
 *
 * @param config      the preset
 * @param split       parallel axis of the ranks: tp or cp; {@code alone} for one process
 * @param ranks       number of processes
 * @param loopSeconds from the start of the process to the start of the training loop; null if not measured
 * @param stepSeconds from the start of the process to the end of the second training step, the first with a log line;
 *                    null if not measured
 * @param epochs      epochs in order
 */
public record TrainingTrace(String config, String split, int ranks, Double loopSeconds, Double stepSeconds,
    List<Epoch> epochs) {
    /** {@link #split} of a single process. */
    public static final String ALONE = "alone";

    /**
     * Training of one epoch.
     *
     * @param steps       steps of all epochs so far
     * @param stepSeconds mean seconds per step in this epoch; null if not measured
     * @param anonymous   memory of all processes at its end without mapped files, in bytes; null if not measured
     * @param cpuSeconds  CPU time of all processes from their start to its end; null if not measured
     */
    public record Epoch(int number, long steps, Double stepSeconds, Long anonymous, Double cpuSeconds) { }
}
