package org.isobar.bench.report;

import static org.isobar.bench.report.Units.GIGA;

import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.StepOperation;
import org.isobar.bench.measure.StepOperation.Phase;
import org.isobar.bench.measure.StepResult;

/**
 * The speed of a memory-bound kernel as a model gives it; not measured. {@code bench/gpu.sh} copies the table of
 * {@code docs/kernels.md}.
 *
 * @param gpu       a part of the device's name, such as "H100"
 * @param name      of the kernel, with the constants that it is compiled for, such as "layer_norm WIDTH=384"
 * @param operands  type of the operands, as the kernels name it; empty if there is only one
 * @param bandwidth GB/s; each byte of a tensor counts once
 */
public record ModelledKernel(String gpu, String name, String operands, double bandwidth) {
    /** Kernels whose names do not follow from those of their operations. */
    private static final Map<StepOperation, String> NAMES = Map.of(
        new StepOperation("relativeL2Loss", Phase.FORWARD), "sum_squares",
        new StepOperation("patchify", Phase.FORWARD), "patchify_channel_first",
        new StepOperation("unpatchify", Phase.FORWARD), "unpatchify_channel_last");
    private static final String SINGLE = "float";

    /** A line of {@code modelled-memory.tsv}. */
    static ModelledKernel of(String line) {
        String[] columns = line.split("\t");
        return new ModelledKernel(columns[0], columns[1], columns[2], Double.parseDouble(columns[3]));
    }

    /** Names that the kernel of an operation may have in a model of that width, the most specific first. */
    static List<String> names(StepOperation operation, long width) {
        String name = NAMES.getOrDefault(operation,
            operation.name().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT));
        return List.of(name + " WIDTH=" + width, name + " COPY", name + " FROM=" + SINGLE, name);
    }

    /** Whether steps whose attention and products have operands of that type run this kernel on their GPU. */
    boolean isOf(StepResult step, String type) {
        return step.facts().getOrDefault("device", "").contains(gpu)
            && List.of("", SINGLE, type).contains(operands);
    }

    double seconds(OperationGroup group) {
        return group.bytes() / (bandwidth * GIGA);
    }
}
