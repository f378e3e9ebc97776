package org.isobar.bench.measure;

import java.util.List;
import java.util.Map;

/**
 * Times of another program's kernels of attention, each of them alone. {@code bench/vit_torch.py} writes it.
 *
 * @param program  pytorch
 * @param config   the preset
 * @param products operand type: bf16 or fp16
 * @param kernels  the kernels
 * @param facts    further information by name
 */
public record AttentionResult(String program, String config, String products, List<Kernel> kernels,
    Map<String, String> facts) {

    /**
     * A kernel.
     *
     * @param name     its name
     * @param forward  seconds of one layer forward; null if not measured
     * @param backward seconds of one layer backward; null if not measured
     * @param reason   why the program does not have it for this shape; empty if it does
     */
    public record Kernel(String name, Spread forward, Spread backward, String reason) { }
}
