package org.isobar.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * How to train: batch sizes in samples, {@code numIters} and {@code warmup} in optimizer steps.
 *
 * @param globalBatchSize samples per step over all processes
 * @param localBatchSize samples per step of one data-parallel rank
 * @param initWeights a safetensors file to start from, instead of fresh weights drawn from {@code seed}
 * @param onNan what becomes of a step whose loss is not finite
 */
public record TrainingConfig(
    int globalBatchSize,
    int localBatchSize,
    int numIters,
    AmpMode ampMode,
    boolean enableFused,
    boolean enableCudaGraphs,
    double lr,
    LrSchedule lrSchedule,
    int warmup,
    long seed,
    Optional<Path> initWeights,
    OnNan onNan) { }
