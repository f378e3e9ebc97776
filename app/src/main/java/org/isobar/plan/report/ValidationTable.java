package org.isobar.plan.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import org.isobar.plan.PlanRequest;
import org.isobar.plan.Planner;
import org.isobar.plan.machine.MachineFile;

/** The validation of the planner as a Markdown page. */
public final class ValidationTable {
    private static final double PERCENT = 100;
    private static final double DIFFERENT = 1.15; // ratio of speeds whose order must be right

    private final StringBuilder text = new StringBuilder();
    private final List<String> summary = new ArrayList<>();

    private ValidationTable() { }

    /**
     * The page.
     *
     * @param mp    a request of preset mp on Perlmutter with 16 GPUs, whose global batch is 64
     * @param large the same with 16,384 GPUs and a global batch of 16,384
     * @param steps steps of this CPU beside their predictions; empty if they were not measured
     * @param ranks runs of several processes beside their predictions, in groups of one model; likewise
     * @param facts date and machine
     */
    public static String of(PlanRequest mp, PlanRequest large, Optional<List<Comparison>> steps,
        Optional<List<List<Comparison>>> ranks, String facts) {
        ValidationTable page = new ValidationTable();
        List<Comparison> present = RecordedChecks.speeds(mp, 2024);
        List<Comparison> collectives = RecordedChecks.collectives();
        page.summary("The tutorial's recorded runs of `mp`, present version, from the profile of `base`",
            "mean at most 10 %, none over 20 %", Comparison.spread(present));
        page.summary("Collectives at 8, 32 and 64 nodes, from the other numbers of nodes (" + collectives.size()
            + " measurements)", "median at most 10 %", percent("median %s", Comparison.median(collectives)));
        page.summary("A step of Isobar on this CPU at sizes that were not calibrated",
            "mean at most 10 %, none over 20 %", steps.map(Comparison::spread).orElse("not measured"));
        page.summary("2 and 4 ranks over sockets, each layout of `demo` and of a larger model",
            "at most 15 %, the order right", ranks.map(models -> Comparison.spread(flat(models)) + ", " + order(models))
            .orElse("not measured"));
        page.summary("All layouts of 1,024 GPUs", "10 s", seconds(with(mp, 1024)));
        page.summary("All layouts of 16,384 GPUs", "60 s", seconds(large));
        page.summary("The tutorial's recorded runs of `mp`, version of 2023, from the same profile", "-",
            Comparison.spread(RecordedChecks.speeds(mp, 2023)));
        page.summary("The tutorial's recorded memory", "-", Comparison.spread(RecordedChecks.memory(mp)));
        page.text.append("Written by `./isobar plan --validate=FILE`, ").append(facts).append(".\n\n")
            .append("| what | must reach | reached |\n|---|---|---|\n");
        page.summary.forEach(row -> page.text.append(row).append('\n'));
        page.rows("The tutorial's runs", present);
        page.rows("Its older version", RecordedChecks.speeds(mp, 2023));
        page.rows("Its memory", RecordedChecks.memory(mp));
        steps.ifPresent(measured -> page.rows("Steps of this CPU", measured));
        ranks.ifPresent(models -> page.rows("Several ranks on this CPU", flat(models)));
        return page.text.toString();
    }

    private static PlanRequest with(PlanRequest request, int ranks) {
        return new PlanRequest(request.config(), MachineFile.load("perlmutter-a100-40"), request.program(), ranks,
            request.fixed());
    }

    private void summary(String what, String must, String reached) {
        summary.add("| " + what + " | " + must + " | " + reached + " |");
    }

    private static List<Comparison> flat(List<List<Comparison>> models) {
        return models.stream().flatMap(List::stream).toList();
    }

    /** Pairs of layouts of a model whose measured speeds differ by more than 15 %, and are predicted in that order. */
    static String order(List<List<Comparison>> models) {
        int pairs = 0;
        int right = 0;
        for (List<Comparison> model : models) {
            for (Comparison slow : model) {
                for (Comparison fast : model) {
                    if (fast.measured() > DIFFERENT * slow.measured()) {
                        pairs++;
                        right += fast.predicted() > slow.predicted() ? 1 : 0;
                    }
                }
            }
        }
        return "order of " + right + " of " + pairs + " pairs right";
    }

    private static String percent(String pattern, double value) {
        return String.format(Locale.ROOT, pattern, String.format(Locale.ROOT, "%.1f %%", PERCENT * value));
    }

    private static String seconds(PlanRequest request) {
        long start = System.nanoTime();
        int layouts = Planner.plan(request).layouts().size();
        return String.format(Locale.ROOT, "%.1f s for %d layouts", (System.nanoTime() - start) / 1e9, layouts);
    }

    private void rows(String title, List<Comparison> all) {
        text.append("\n| ").append(title).append(" | predicted | measured | error |\n|---|---|---|---|\n");
        all.forEach(each -> text.append(String.format(Locale.ROOT, "| %s | %.4g %s | %.4g %s | %+.1f %% |%n",
            each.what(), each.predicted(), each.unit(), each.measured(), each.unit(), PERCENT * each.error())));
    }
}
