package org.isobar.plan.report;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.config.keys.AmpMode;
import org.isobar.nn.Recompute;
import org.isobar.os.ShellWords;
import org.isobar.plan.LeftOut;
import org.isobar.plan.Plan;
import org.isobar.plan.PlanLayout;
import org.isobar.plan.PlannedLayout;
import org.isobar.plan.Program;

/**
 * A plan as text.
 *
 * @param plan   the plan
 * @param preset the keys that the preset gives; the command replaces the layout among them
 */
public record PlanText(Plan plan, Set<String> preset) {
    /** The label of every figure for a GPU on which Isobar has not been measured. */
    public static final String UNVALIDATED = "not validated on a GPU";
    private static final double GIB = 1L << 30;
    private static final double PERCENT = 100;
    private static final int HOUR = 3600;
    private static final int MOST_ROWS = 20;
    private static final int MOST_REASONS = 6;
    private static final int SCRIPT_TASKS = 4; // of a node, in the submit scripts

    /** The head of the ranked table. */
    public List<String> columns() {
        String rank = plan.request().machine().isGpu() ? "GPU" : "process";
        return List.of("", "tp", "cp", "dp", "order", "batch", "precision", "recompute", "graphs", "samples/s",
            "interval", "per " + rank, "hours", rank + "-hours", "GB", "");
    }

    /** The rows of the ranked table: of layouts that differ in nothing but what is computed, the fastest that fits. */
    public List<List<String>> rows() {
        Set<String> seen = new HashSet<>();
        List<List<String>> rows = new ArrayList<>();
        for (PlannedLayout each : plan.layouts()) {
            if (rows.size() < MOST_ROWS && seen.add(each.layout().toString())) {
                rows.add(row(rows.size() + 1, each));
            }
        }
        return rows;
    }

    private List<String> row(int rank, PlannedLayout each) {
        PlanLayout layout = each.layout();
        double hours = each.stepSeconds() * plan.request().config().training().numIters() / HOUR;
        return List.of(String.valueOf(rank), String.valueOf(layout.tp()), String.valueOf(layout.cp()),
            String.valueOf(layout.dp()), layout.order().isEmpty() ? "-" : layout.order(),
            batch(layout), precision(layout), recompute(layout), layout.graphs() ? "yes" : "no",
            number(each.samplesPerSecond()), number(each.low()) + " to " + number(each.high()),
            number(each.samplesPerSecond() / layout.ranks()), number(hours), number(hours * layout.ranks()),
            number(each.memoryBytes() / GIB), each.fits() ? each.ties(plan.best()) ? "tie" : "" : "does not fit");
    }

    /** Samples of a replica in a step: of one batch, or micro-batches times their samples. */
    private static String batch(PlanLayout layout) {
        return layout.accumulate() == 1 ? String.valueOf(layout.localBatch())
            : layout.accumulate() + " x " + layout.localBatch() / layout.accumulate();
    }

    private static String precision(PlanLayout layout) {
        return layout.precision() == AmpMode.NONE ? "fp32" : layout.precision().name().toLowerCase(Locale.ROOT);
    }

    private static String recompute(PlanLayout layout) {
        return layout.recompute() == Recompute.NONE ? "-" : layout.recompute().name().toLowerCase(Locale.ROOT);
    }

    /** Three significant digits. */
    static String number(double value) {
        return value >= 100 ? String.format(Locale.ROOT, "%.0f", value)
            : value >= 10 ? String.format(Locale.ROOT, "%.1f", value) : String.format(Locale.ROOT, "%.2f", value);
    }

    /** The lines before the table: machine, program, and what is not known. */
    public List<String> introduction() {
        List<String> lines = new ArrayList<>();
        lines.add("Machine: " + plan.request().machine().name() + " ("
            + plan.request().machine().description() + ")");
        lines.add("Program: " + (plan.request().program() == Program.ISOBAR ? "Isobar" : "the tutorial's")
            + ", preset " + plan.request().config().name() + ", global batch " + plan.request().globalBatch()
            + ", " + plan.request().ranks() + (plan.request().machine().isGpu() ? " GPUs" : " processes"));
        if (plan.unvalidated()) {
            lines.add("All figures below: " + UNVALIDATED + "; +-30 %, from published peaks");
        } else if (plan.request().machine().operations().isEmpty() && plan.request().program() == Program.ISOBAR) {
            lines.add("This machine file has no measured operations: +-30 %; isobar bench calibrate measures them");
        }
        return lines;
    }

    /** The lines after the table: ties, breakdown, what is impossible, and the command. */
    public List<String> conclusion(List<String> options) {
        List<String> lines = new ArrayList<>();
        long ties = plan.layouts().stream().filter(PlannedLayout::fits).filter(each -> each.ties(plan.best()))
            .map(each -> each.layout().toString()).distinct().count();
        if (ties > 1) {
            lines.add(ties + " layouts lie within each other's interval: a tie");
        }
        lines.add("Step of the best: " + breakdown(plan.best()));
        lines.addAll(impossible());
        lines.add("Best: " + command(plan.best().layout(), options)
            + (plan.unvalidated() ? "   (" + UNVALIDATED + ")" : ""));
        return lines;
    }

    /** The parts of a step in percent of its time. */
    public static String breakdown(PlannedLayout each) {
        return String.format(Locale.ROOT, "%.4g s: ", each.stepSeconds()) + each.breakdown().entrySet().stream()
            .filter(part -> part.getValue() > each.stepSeconds() / (2 * PERCENT))
            .map(part -> String.format(Locale.ROOT, "%s %.0f %%", part.getKey(),
                PERCENT * part.getValue() / each.stepSeconds())).collect(Collectors.joining(", "));
    }

    private List<String> impossible() {
        Map<String, List<String>> byReason = plan.leftOut().stream().collect(Collectors.groupingBy(LeftOut::reason,
            LinkedHashMap::new, Collectors.mapping(LeftOut::what, Collectors.toList())));
        List<String> lines = new ArrayList<>();
        byReason.forEach((reason, which) -> lines.add("Left out: " + which.stream().limit(MOST_REASONS)
            .collect(Collectors.joining(", ")) + (which.size() > MOST_REASONS ? " and " + (which.size() - MOST_REASONS)
            + " more" : "") + ": " + reason));
        return lines;
    }

    /** The command that runs a layout: sbatch for GPUs, launch for processes of this machine. */
    public String command(PlanLayout layout, List<String> options) {
        List<String> words = new ArrayList<>();
        if (plan.request().machine().isGpu()) {
            int tasks = plan.request().ranksPerNode();
            words.addAll(List.of("sbatch", "--nodes", String.valueOf(plan.request().nodes())));
            if (tasks != SCRIPT_TASKS) {
                words.addAll(List.of("--ntasks-per-node", String.valueOf(tasks), "--gpus-per-node",
                    String.valueOf(tasks)));
            }
            words.add(layout.tp() * layout.cp() > 1 ? "submit_pm_mp.sh" : "submit_pm_dp.sh");
        } else {
            words.addAll(List.of("./isobar", "launch", "--nproc_per_node=" + layout.ranks(), "train"));
        }
        words.add("--config=" + plan.request().config().name());
        words.addAll(options);
        words.addAll(division(layout));
        if (plan.request().program() == Program.ISOBAR) {
            words.addAll(changed(layout));
        }
        return ShellWords.join(words);
    }

    private List<String> division(PlanLayout layout) {
        List<String> words = new ArrayList<>();
        if (layout.tp() * layout.cp() > 1
            || Stream.of("tensor_parallel", "context_parallel", "parallel_order").anyMatch(preset::contains)) {
            words.add("--tensor_parallel=" + layout.tp());
            words.add("--context_parallel=" + layout.cp());
            if (!layout.order().isEmpty()) {
                words.add("--parallel_order=" + layout.order());
            }
        }
        if (preset.contains("local_batch_size")) { // which overrides the global one
            words.add("--local_batch_size=" + layout.localBatch() / layout.accumulate());
        }
        if (preset.contains("noddp")) {
            words.add("--noddp=false");
        }
        return words;
    }

    private List<String> changed(PlanLayout layout) {
        List<String> words = new ArrayList<>();
        if (layout.precision() != plan.request().config().training().ampMode()) {
            words.add("--amp_mode=" + layout.precision().name().toLowerCase(Locale.ROOT));
        }
        if (layout.recompute() != plan.request().model().recompute()) {
            words.add("--recompute=" + layout.recompute().name().toLowerCase(Locale.ROOT));
        }
        if (layout.accumulate() != plan.request().config().training().microBatches()) {
            words.add("--accumulate=" + layout.accumulate());
        }
        if (plan.request().machine().isGpu()
            && layout.graphs() != plan.request().config().training().enableCudaGraphs()) {
            words.add(layout.graphs() ? "--enable_cuda_graphs" : "--enable_cuda_graphs=false");
        }
        return words;
    }
}
