package org.isobar.bench.report;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.StepOperation;
import org.isobar.bench.measure.StepResult;

/**
 * Speeds of Isobar's kernels as a model gives them, without dropout; not measured. The model and its tables are in
 * {@code docs/kernels.md}.
 *
 * @param attention kernels of attention
 * @param kernels   memory-bound kernels
 */
public record ModelledSpeeds(List<ModelledAttention> attention, List<ModelledKernel> kernels) {
    private static final Map<String, String> OPERANDS =
        Map.of("bf16", "bf16_t", "fp16", "bf16_t", "tf32", "float"); // fp16 has the code of bf16

    /** Reads lines of {@code modelled.tsv} and {@code modelled-memory.tsv}. */
    static ModelledSpeeds of(List<String> attention, List<String> memory) {
        return new ModelledSpeeds(attention.stream().map(ModelledAttention::of).toList(),
            memory.stream().map(ModelledKernel::of).toList());
    }

    boolean isEmpty() {
        return attention.isEmpty() && kernels.isEmpty();
    }

    /** The model of a step's attention; empty for another GPU or head, and if a library computes attention. */
    Optional<ModelledAttention> attention(StepResult step) {
        return step.facts().containsKey("attention") ? Optional.empty()
            : attention.stream().filter(model -> model.isOf(step, operands(step))).findFirst();
    }

    /** Seconds of a group of operations; empty without a model of its kernel. */
    Optional<Double> seconds(StepResult step, OperationGroup group) {
        return attention(step).flatMap(model -> model.seconds(group)).or(() ->
            ModelledKernel.names(new StepOperation(group.name(), group.phase()), step.model().embedDim()).stream()
                .flatMap(name -> kernels.stream().filter(kernel -> kernel.name().equals(name)))
                .filter(kernel -> kernel.isOf(step, operands(step))).map(kernel -> kernel.seconds(group)).findFirst());
    }

    private static String operands(StepResult step) {
        return OPERANDS.getOrDefault(step.products(), "");
    }
}
