package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.PERCENT;
import static org.isobar.bench.report.Units.TERA;

import java.util.Collection;
import java.util.List;
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
    static Map<String, String> all(Collection<StepResult> steps, CeilingsTable ceilings, ModelledSpeeds models) {
        Map<String, String> tables = new TreeMap<>();
        steps.stream().filter(step -> !step.operations().isEmpty()).forEach(step ->
            tables.computeIfAbsent(step.config() + ", " + step.products(), setting -> of(step, ceilings, models)));
        return tables;
    }

    private static String of(StepResult step, CeilingsTable ceilings, ModelledSpeeds models) {
        boolean modelled = step.operations().stream().anyMatch(group -> models.seconds(step, group).isPresent());
        List<String> columns = List.of("ms, modelled, not measured", "measured / modelled");
        MarkdownTable table = new MarkdownTable(cells(modelled, columns, "operation", "part of the step", "calls", "ms",
            "useful work per second", "of the ceiling"));
        Double product = ceilings.highest(step.products());
        Double copy = ceilings.highest(null);
        for (OperationGroup group : step.operations()) {
            boolean computes = group.flops() > 0;
            double work = computes ? group.flops() : group.bytes();
            Double rate = group.seconds() == null ? null : Double.valueOf(work / group.seconds());
            Double ceiling = computes ? product : copy;
            table.row(cells(modelled, comparison(group.seconds(), models.seconds(step, group)), group.name(),
                group.phase().toString(), String.valueOf(group.calls()), number("%.3f", group.seconds(), MILLI),
                computes && (rate == null || rate >= TERA) ? number("%.1f TFLOP/s", rate, TERA)
                    : number(computes ? "%.1f GFLOP/s" : "%.1f GB/s", rate, GIGA),
                number("%.0f %%", rate == null || ceiling == null ? null : Double.valueOf(rate / ceiling), PERCENT)));
        }
        Double all = step.operations().stream().anyMatch(group -> group.seconds() == null) ? null
            : Double.valueOf(step.operations().stream().mapToDouble(OperationGroup::seconds).sum());
        table.row(cells(modelled, List.of("", ""), "all", "", "", number("%.3f", all, MILLI), "", ""));
        return table.toString();
    }

    /** The modelled time, and the measured one divided by it; empty cells without a model. */
    private static List<String> comparison(Double measured, Optional<Double> modelled) {
        return modelled.map(seconds -> List.of(number("%.3f", seconds, MILLI),
            number("%.2f", Units.quotient(measured, seconds), 1))).orElse(List.of("", ""));
    }

    /** A row with further cells if there is a model. */
    private static String[] cells(boolean modelled, List<String> further, String... others) {
        return Stream.concat(Stream.of(others), further.stream().filter(_ -> modelled)).toArray(String[]::new);
    }
}
