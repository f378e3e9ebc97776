package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.PERCENT;
import static org.isobar.bench.report.Units.TERA;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.StepResult;

/** Tables of the operations of a step, with their rates as a fraction of the ceilings. */
final class OperationsTable {
    private OperationsTable() { }

    /** Returns a table for each preset and operand type whose operations were measured. */
    static Map<String, String> all(Collection<StepResult> steps, CeilingsTable ceilings) {
        Map<String, String> tables = new TreeMap<>();
        steps.stream().filter(step -> !step.operations().isEmpty()).forEach(step ->
            tables.computeIfAbsent(step.config() + ", " + step.products(), setting -> of(step, ceilings)));
        return tables;
    }

    private static String of(StepResult step, CeilingsTable ceilings) {
        MarkdownTable table = new MarkdownTable("operation", "part of the step", "calls", "ms",
            "useful work per second", "of the ceiling");
        Double product = ceilings.highest(step.products());
        Double copy = ceilings.highest(null);
        for (OperationGroup group : step.operations()) {
            boolean computes = group.flops() > 0;
            double work = computes ? group.flops() : group.bytes();
            Double rate = group.seconds() == null ? null : Double.valueOf(work / group.seconds());
            Double ceiling = computes ? product : copy;
            table.row(group.name(), group.phase().toString(), String.valueOf(group.calls()),
                number("%.3f", group.seconds(), MILLI),
                computes && (rate == null || rate >= TERA) ? number("%.1f TFLOP/s", rate, TERA)
                    : number(computes ? "%.1f GFLOP/s" : "%.1f GB/s", rate, GIGA),
                number("%.0f %%", rate == null || ceiling == null ? null : Double.valueOf(rate / ceiling), PERCENT));
        }
        Double all = step.operations().stream().anyMatch(group -> group.seconds() == null) ? null
            : Double.valueOf(step.operations().stream().mapToDouble(OperationGroup::seconds).sum());
        table.row("all", "", "", number("%.3f", all, MILLI), "", "");
        return table.toString();
    }
}
