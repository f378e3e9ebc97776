package org.isobar.config;

import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.TRAINING;

import java.nio.file.Path;
import java.util.Optional;

import org.isobar.config.keys.AmpMode;
import org.isobar.config.keys.LrSchedule;
import org.isobar.config.keys.OnNan;
import org.isobar.config.keys.Settings;

/**
 * How to train: batch sizes in samples, {@code numIters} and {@code warmup} in optimizer steps.
 *
 * @param globalBatchSize samples per step over all processes
 * @param localBatchSize samples of one micro-batch of one data-parallel rank
 * @param microBatches micro-batches per step: their gradients are summed before the weights are updated
 * @param initWeights a safetensors file to start from, instead of random weights drawn from {@code seed}
 * @param validateRollout steps of the roll-outs after each epoch
 * @param finalRollout steps of the roll-outs at the end
 * @param onNan what to do after a step whose loss is not finite
 * @param memoryLimit most bytes that a process may be planned to need
 */
public record TrainingConfig(
    int globalBatchSize,
    int localBatchSize,
    int microBatches,
    int numIters,
    AmpMode ampMode,
    boolean enableFused,
    boolean enableCudaGraphs,
    double lr,
    LrSchedule lrSchedule,
    int warmup,
    long seed,
    Optional<Path> initWeights,
    OnNan onNan,
    Optional<Long> memoryLimit,
    Optional<Integer> validateRollout,
    Optional<Integer> finalRollout) {

    /** This configuration with another number of optimizer steps, and roll-outs of at most {@code longest} steps. */
    public TrainingConfig shortened(int iterations, int longest) {
        return new TrainingConfig(globalBatchSize, localBatchSize, microBatches, iterations, ampMode, enableFused,
            enableCudaGraphs, lr, lrSchedule, warmup, seed, initWeights, onNan, memoryLimit,
            validateRollout.map(steps -> Math.min(steps, longest)),
            finalRollout.map(steps -> Math.min(steps, longest)));
    }

    static TrainingConfig of(Settings settings) {
        return new TrainingConfig(settings.get(TRAINING.globalBatchSize),
            settings.get(TRAINING.localBatchSize).orElseThrow(), settings.get(TRAINING.accumulateSteps).orElse(1),
            settings.get(TRAINING.numIters), settings.get(TRAINING.ampMode), settings.get(TRAINING.enableFused),
            settings.get(TRAINING.enableCudaGraphs), settings.get(TRAINING.lr), settings.get(TRAINING.lrSchedule),
            settings.get(TRAINING.warmup), settings.get(RUN.seed), settings.get(RUN.initWeights),
            settings.get(RUN.onNan), settings.get(RUN.memoryLimit),
            settings.get(RUN.validateRollout), settings.get(RUN.finalRollout));
    }
}
