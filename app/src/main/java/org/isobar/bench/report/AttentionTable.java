package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.TERA;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.bench.measure.AttentionResult;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepResult;

/** Table of one layer's attention on a GPU: Isobar's kernels beside their model, and the kernels of PyTorch. */
final class AttentionTable {
    static final String TEXT = "One layer. TFLOP/s count two products forward and five backward. *Modelled* are the "
        + "TFLOP/s of docs/kernels.md, which are not measured.";
    private static final Set<String> HALF = Set.of("bf16", "fp16");
    private static final List<AttentionResult.Kernel> ABSENT = Stream.of("FlashAttention-2", "cuDNN attention")
        .map(name -> new AttentionResult.Kernel(name, null, null, "see the parts of this run")).toList();

    private final BenchFiles files;
    private final MarkdownTable table = new MarkdownTable("preset", "products", "attention", "forward, ms", "TFLOP/s",
        "modelled", "backward, ms", "TFLOP/s", "modelled", "reason");

    private AttentionTable(BenchFiles files) {
        this.files = files;
    }

    /** Returns the table; empty for a benchmark without models and kernels of attention, as on a CPU. */
    static String of(BenchFiles files) {
        if (files.modelled().isEmpty() && files.attention().isEmpty()) {
            return "";
        }
        AttentionTable table = new AttentionTable(files);
        Map<List<String>, Map<String, StepResult>> settings = new LinkedHashMap<>();
        files.steps().values().stream().filter(step -> !step.operations().isEmpty()).forEach(step ->
            settings.computeIfAbsent(List.of(step.config(), step.products()), _ -> new LinkedHashMap<>())
                .putIfAbsent(step.facts().getOrDefault("attention", "its own kernels"), step));
        settings.values().forEach(table::setting);
        return settings.isEmpty() ? "" : table.table.toString();
    }

    /** @param steps Isobar's steps by what computes their attention */
    private void setting(Map<String, StepResult> steps) {
        steps.forEach((name, step) -> {
            Optional<ModelledAttention> model = files.modelled().attention(step);
            row(step, "isobar, " + name, layer(step, "attention"), layer(step, "attentionBackward"), model, "");
        });
        StepResult any = steps.values().iterator().next();
        if (HALF.contains(any.products())) {
            files.attention().values().stream().filter(result -> result.config().equals(any.config())
                && result.products().equals(any.products())).map(AttentionResult::kernels).findFirst().orElse(ABSENT)
                .forEach(kernel -> row(any, "pytorch, " + kernel.name(), median(kernel.forward()),
                    median(kernel.backward()), Optional.empty(), kernel.reason()));
        }
    }

    private void row(StepResult step, String name, Double forward, Double backward, Optional<ModelledAttention> model,
        String reason) {
        double product = product(step);
        table.row(step.config(), step.products(), name, number("%.3f", forward, MILLI),
            number("%.1f", Units.quotient(2 * product, forward), TERA),
            model.map(speed -> number("%.1f", speed.forward(), 1)).orElse(""), number("%.3f", backward, MILLI),
            number("%.1f", Units.quotient(5 * product, backward), TERA),
            model.map(speed -> number("%.1f", speed.backward(), 1)).orElse(""), reason);
    }

    /** Floating-point operations of one of attention's products of all heads: 2 B T T E. */
    private static double product(StepResult step) {
        StepResult.Model model = step.model();
        double tokens = 1;
        for (int side : model.imgSize()) {
            tokens *= Math.floorDiv(side, model.patchSize());
        }
        return 2.0 * step.batch() * tokens * tokens * model.embedDim();
    }

    /** Seconds of one call; null if not measured. */
    private static Double layer(StepResult step, String operation) {
        return step.operations().stream().filter(group -> group.name().equals(operation)
            && group.seconds() != null).map(group -> group.seconds() / group.calls()).findFirst().orElse(null);
    }

    private static Double median(Spread seconds) {
        return seconds == null ? null : Double.valueOf(seconds.median());
    }
}
