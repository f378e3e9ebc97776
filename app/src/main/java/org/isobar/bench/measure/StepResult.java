package org.isobar.bench.measure;

import java.util.List;
import java.util.Map;

/**
 * What a program's training step took: Isobar's and, in the same shape, that of {@code bench/vit_torch.py}, which reads
 * from it what to do.
 *
 * @param program      isobar or pytorch
 * @param mode         how it was run: steps, graphs, eager, compiled
 * @param config       the preset
 * @param products     what products take in: bf16, fp16, tf32, fp32
 * @param model        extents
 * @param batch        samples of a step
 * @param learningRate of all steps
 * @param warmup       steps before those that are measured
 * @param steps        steps that are measured, or would be
 * @param flops        useful floating-point operations of a step
 * @param losses       of the first steps; empty before they have been taken
 * @param stepSeconds  of a step; null where nothing is measured
 * @param memory       what it took
 * @param operations   the groups of operations of a step; empty where they were not looked at
 * @param facts        what else is worth knowing
 */
public record StepResult(String program, String mode, String config, String products, Model model, int batch,
    double learningRate, int warmup, int steps, double flops, List<Double> losses, Spread stepSeconds, Memory memory,
    List<OperationGroup> operations, Map<String, String> facts) {

    /** Extents of a model, under the names of the presets. */
    public record Model(List<Integer> imgSize, int patchSize, int inChannels, int outChannels, int embedDim, int depth,
        int numHeads) { }

    /**
     * Peaks of memory in bytes.
     *
     * @param own    what the program has taken for tensors
     * @param device what the device, or on a CPU the process, held, other users included; 0 where not known
     */
    public record Memory(long own, long device) { }

    /** The same to be done with other numbers of steps. */
    public StepResult withSteps(int others, int measured) {
        return new StepResult(program, mode, config, products, model, batch, learningRate, others, measured, flops,
            losses, stepSeconds, memory, operations, facts);
    }

    /** This with what came of it. */
    StepResult with(List<Double> firstLosses, Spread seconds, Memory taken, List<OperationGroup> groups) {
        return new StepResult(program, mode, config, products, model, batch, learningRate, warmup, steps, flops,
            firstLosses, seconds, taken, groups, facts);
    }
}
