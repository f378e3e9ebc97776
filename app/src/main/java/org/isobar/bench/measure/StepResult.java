package org.isobar.bench.measure;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Result of a step benchmark. {@code bench/vit_torch.py} writes the same format, and reads the settings of its own
 * benchmark from a file of Isobar.
 *
 * @param program      isobar or pytorch
 * @param mode         mode of execution: steps, graphs, eager, compiled; "cudnn steps" and "cudnn graphs" if cuDNN
 *                     computes attention
 * @param config       the preset
 * @param products     operand type of matrix products: bf16, fp16, tf32, fp32
 * @param model        sizes of the model
 * @param batch        samples per step
 * @param learningRate learning rate of all steps
 * @param warmup       steps before the measurement
 * @param steps        measured steps
 * @param flops        useful floating-point operations per step
 * @param losses       losses of the first steps; empty before they were run
 * @param stepSeconds  seconds per step; null if not measured
 * @param memory       peak memory
 * @param operations   groups of operations of a step; empty if not measured
 * @param facts        further information by name
 */
public record StepResult(String program, String mode, String config, String products, Model model, int batch,
    double learningRate, int warmup, int steps, double flops, List<Double> losses, Spread stepSeconds, Memory memory,
    List<OperationGroup> operations, Map<String, String> facts) {

    /** Checks that the result, which may come from a file, says what was run. */
    public StepResult {
        if (Stream.of(program, mode, config, products, losses, facts).anyMatch(Objects::isNull)) {
            throw new IllegalArgumentException("program, mode, config, products, losses or facts are missing");
        }
    }

    /** Sizes of a model, by the keys of the presets. */
    public record Model(List<Integer> imgSize, int patchSize, int inChannels, int outChannels, int embedDim, int depth,
        int numHeads) { }

    /**
     * Peak memory in bytes.
     *
     * @param own    memory that the program allocated for tensors
     * @param device memory in use on the device, by other processes too; on a CPU that of the process; 0 if unknown
     */
    public record Memory(long own, long device) { }

    /** Returns a copy with other numbers of steps. */
    public StepResult withSteps(int warmupSteps, int measuredSteps) {
        return new StepResult(program, mode, config, products, model, batch, learningRate, warmupSteps, measuredSteps,
            flops,
            losses, stepSeconds, memory, operations, facts);
    }

    /** Returns a copy with measured values. */
    StepResult with(List<Double> firstLosses, Spread seconds, Memory peak, List<OperationGroup> groups) {
        return new StepResult(program, mode, config, products, model, batch, learningRate, warmup, steps, flops,
            firstLosses, seconds, peak, groups, facts);
    }
}
