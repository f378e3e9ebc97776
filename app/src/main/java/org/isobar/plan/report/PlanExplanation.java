package org.isobar.plan.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

import org.isobar.fault.UserException;
import org.isobar.plan.Plan;
import org.isobar.plan.PlannedLayout;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.Quantity;
import org.isobar.plan.simulate.Timeline;

/** Explains the prediction for one layout. */
public final class PlanExplanation {
    private static final double GIB = 1L << 30;

    private PlanExplanation() { }

    /**
     * The lines about a layout.
     *
     * @param layout {@code TPxCPxDP}, such as {@code 4x1x4}: the fastest of these
     * @throws UserException if there is none
     */
    public static List<String> of(Plan plan, String layout) {
        PlannedLayout each = plan.layouts().stream().filter(candidate -> layout.equals(product(candidate)))
            .findFirst().orElse(null);
        if (each == null) {
            throw new UserException("--explain=" + layout + ": there is no such layout of " + plan.request().ranks()
                + " ranks; give TPxCPxDP, such as " + product(plan.best()));
        }
        List<String> lines = new ArrayList<>();
        lines.add(each.layout() + ", local batch " + each.layout().localBatch() + ": "
            + PlanText.number(each.samplesPerSecond()) + " samples/s (" + PlanText.number(each.low()) + " to "
            + PlanText.number(each.high()) + ")" + (plan.unvalidated() ? ", " + PlanText.UNVALIDATED : ""));
        lines.add("  step: " + PlanText.breakdown(each));
        each.breakdown().forEach((part, seconds) -> lines.add(String.format(Locale.ROOT, "    %-14s %10.3f ms", part,
            1e3 * seconds)));
        lines.add(String.format(Locale.ROOT, "  memory: %.2f GB of %.1f GB: planned %.3f GB, and estimated %.2f GB for "
            + "inputs, workspace, %s", each.memoryBytes() / GIB, each.capacity() / GIB,
            each.plannedBytes() / GIB, (each.memoryBytes() - each.plannedBytes()) / GIB,
            plan.request().machine().isGpu() ? "driver and communicators" : "a checkpoint's copy and communicators"));
        lines.addAll(communication(each));
        lines.addAll(sources(plan));
        return lines;
    }

    private static String product(PlannedLayout each) {
        return each.layout().tp() + "x" + each.layout().cp() + "x" + each.layout().dp();
    }

    private static List<String> communication(PlannedLayout each) {
        Map<String, double[]> groups = new TreeMap<>();
        each.timeline().spans().stream().filter(span -> !span.stream().equals(Timeline.COMPUTE)
            && !span.stream().equals(Timeline.WAIT)).forEach(span -> {
                double[] sums = groups.computeIfAbsent(span.stream(), _ -> new double[2]);
                sums[0]++;
                sums[1] += span.seconds();
            });
        return groups.entrySet().stream().map(group -> String.format(Locale.ROOT,
            "  group %s: %.0f collectives, %.3f ms, of which %.3f ms are exposed", group.getKey(),
            group.getValue()[0], 1e3 * group.getValue()[1],
            1e3 * each.timeline().exposed().getOrDefault(group.getKey(), 0.0))).toList();
    }

    private static List<String> sources(Plan plan) {
        List<String> lines = new ArrayList<>(List.of("  numbers of the machine:"));
        new TreeMap<>(plan.request().machine().numbers()).forEach((key, number) -> {
            if (!key.equals(MachineKeys.CORES) || !plan.request().machine().isGpu()) {
                lines.add("    " + key + " " + text(number));
            }
        });
        return lines;
    }

    private static String text(Quantity number) {
        return PlanText.number(number.value()) + ", " + number.source().name().toLowerCase(Locale.ROOT) + " "
            + number.date() + ", " + number.run();
    }
}
