package org.isobar.bench.measure;

import java.util.List;

/**
 * What somebody sees who watches {@code isobar train} from outside.
 *
 * @param config      the preset
 * @param split       what its ranks share: tp or cp; {@code alone} where there is one
 * @param ranks       processes
 * @param loopSeconds from the start of the process to the beginning of the training loop; null where not measured
 * @param stepSeconds from the start of the process to the end of the second training step, the first that the log
 *                    tells of; null likewise
 * @param epochs      in their order
 */
public record TrainingTrace(String config, String split, int ranks, Double loopSeconds, Double stepSeconds,
    List<Epoch> epochs) {
    /** {@link #split} of one process. */
    public static final String ALONE = "alone";

    /**
     * One epoch's training.
     *
     * @param steps       of all epochs so far
     * @param stepSeconds of a step of this epoch, on average; null where not measured
     * @param anonymous   memory of all processes together at its end, without that of mapped files, in bytes; null
     *                    likewise
     */
    public record Epoch(int number, long steps, Double stepSeconds, Long anonymous) { }
}
