package org.isobar.bench.report;

import static org.isobar.bench.report.Units.TERA;

import java.util.Optional;

import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.StepResult;

/**
 * The speed of Isobar's kernels of attention as a model gives it, without dropout; not measured. The model and its
 * tables are in {@code docs/kernels.md}, from which {@code bench/gpu.sh} copies them.
 *
 * @param gpu      a part of the device's name, such as "H100"
 * @param operands type of the operands, as the kernels name it
 * @param channels of a head
 * @param forward  TFLOP/s; two products count
 * @param backward TFLOP/s; five products count
 */
public record ModelledAttention(String gpu, String operands, long channels, double forward, double backward) {
    /** {@link OperationGroup#flops} leaves out the product that backward computes again. */
    private static final double BACKWARD_PRODUCTS = 5.0 / 4;

    /** A line of {@code modelled.tsv}. */
    static ModelledAttention of(String line) {
        String[] columns = line.split("\t");
        return new ModelledAttention(columns[0], columns[1], Long.parseLong(columns[2]),
            Double.parseDouble(columns[3]), Double.parseDouble(columns[4]));
    }

    /** Whether this is the model of a step on its GPU, whose operands have that type. */
    boolean isOf(StepResult step, String type) {
        return step.facts().getOrDefault("device", "").contains(gpu) && operands.equals(type)
            && channels * step.model().numHeads() == step.model().embedDim();
    }

    /** Seconds of a group of operations; empty for another operation than attention. */
    Optional<Double> seconds(OperationGroup group) {
        return switch (group.name()) {
            case "attention" -> Optional.of(group.flops() / (forward * TERA));
            case "attentionBackward" -> Optional.of(BACKWARD_PRODUCTS * group.flops() / (backward * TERA));
            default -> Optional.empty();
        };
    }
}
