package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.PERCENT;
import static org.isobar.bench.report.Units.TERA;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.StepResult;

/** Tables of the operations of a step, with their rates as a fraction of the ceilings. */
final class OperationsTable {
    private OperationsTable() { }

    /** Returns a table for each preset and operand type whose operations were measured. */
    static Map<String, String> all(Collection<StepResult> steps, CeilingsTable ceilings,
        Collection<ModelledAttention> models) {
        Map<String, String> tables = new TreeMap<>();
        steps.stream().filter(step -> !step.operations().isEmpty()).forEach(step ->
            tables.computeIfAbsent(step.config() + ", " + step.products(), setting -> of(step, ceilings,
                ModelledAttention.of(step, models))));
        return tables;
    }

    private static String of(StepResult step, CeilingsTable ceilings, Optional<ModelledAttention> model) {
        MarkdownTable table = new MarkdownTable(cells(model.map(_ -> "ms, modelled, not measured"), "operation",
            "part of the step", "calls", "ms", "useful work per second", "of the ceiling"));
        Double product = ceilings.highest(step.products());
        Double copy = ceilings.highest(null);
        for (OperationGroup group : step.operations()) {
            boolean computes = group.flops() > 0;
            double work = computes ? group.flops() : group.bytes();
            Double rate = group.seconds() == null ? null : Double.valueOf(work / group.seconds());
            Double ceiling = computes ? product : copy;
            Optional<String> modelled = model.map(attention -> attention.seconds(group)
                .map(seconds -> number("%.3f", seconds, MILLI)).orElse(""));
            table.row(cells(modelled, group.name(), group.phase().toString(), String.valueOf(group.calls()),
                number("%.3f", group.seconds(), MILLI),
                computes && (rate == null || rate >= TERA) ? number("%.1f TFLOP/s", rate, TERA)
                    : number(computes ? "%.1f GFLOP/s" : "%.1f GB/s", rate, GIGA),
                number("%.0f %%", rate == null || ceiling == null ? null : Double.valueOf(rate / ceiling), PERCENT)));
        }
        Double all = step.operations().stream().anyMatch(group -> group.seconds() == null) ? null
            : Double.valueOf(step.operations().stream().mapToDouble(OperationGroup::seconds).sum());
        table.row(cells(model.map(_ -> ""), "all", "", "", number("%.3f", all, MILLI), "", ""));
        return table.toString();
    }

    /** A row with one more cell if there is a model. */
    private static String[] cells(Optional<String> modelled, String... others) {
        return Stream.concat(Stream.of(others), modelled.stream()).toArray(String[]::new);
    }
}
