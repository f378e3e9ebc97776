package org.isobar.plan.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Recompute;
import org.isobar.plan.PlanLayout;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.PlannedLayout;
import org.isobar.plan.Planner;
import org.isobar.plan.Program;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.MachineFile;

/** Checks of the planner against measurements of others, which need no run. */
public final class RecordedChecks {
    private static final Set<Integer> LEFT_OUT = Set.of(8, 32, 64);

    private RecordedChecks() { }

    /**
     * The tutorial's recorded runs of preset mp in its present version, predicted from the profile of preset base.
     *
     * @param request a request for preset mp; its machine is replaced
     */
    public static List<Comparison> speeds(PlanRequest request, int year) {
        return RecordedRun.all().stream().filter(run -> run.preset().equals("mp") && run.year() == year)
            .map(run -> new Comparison(name(run), "samples/s", predict(request, run).samplesPerSecond(), run.speed()))
            .toList();
    }

    /** The memory of these runs at the end of the first epoch. */
    public static List<Comparison> memory(PlanRequest request) {
        return RecordedRun.all().stream().filter(run -> run.preset().equals("mp") && run.year() == 2024)
            .map(run -> new Comparison(name(run), "GB", predict(request, run).memoryBytes() / (double) (1L << 30),
                run.memoryGb().getLast())).toList();
    }

    private static String name(RecordedRun run) {
        return run.preset() + ", " + run.gpus() + " " + run.gpu() + ", " + run.options() + ", " + run.year();
    }

    private static PlannedLayout predict(PlanRequest request, RecordedRun run) {
        int tp = run.options().contains("tp 4") ? 4 : 1;
        int dp = run.gpus() / tp;
        PlanRequest recorded = new PlanRequest(request.config(),
            MachineFile.load("perlmutter-" + run.gpu().toLowerCase(Locale.ROOT)), Program.TUTORIAL,
            run.gpus(), PlanRequest.Fixed.NOTHING);
        return Planner.predict(recorded, new PlanLayout(tp, 1, dp, ProcessGrid.DEFAULT_ORDER,
            request.globalBatch() / dp, 1, AmpMode.FP16, Recompute.NONE, false));
    }

    /** Measured collectives at 8, 32 and 64 nodes, predicted from those at all other numbers of nodes. */
    public static List<Comparison> collectives() {
        List<CollectiveTable.Row> rows = CollectiveTable.shipped("nccl_perlmutter_a100");
        CollectiveTable rest = CollectiveTable.of(rows, nodes -> !LEFT_OUT.contains(nodes));
        List<Comparison> all = new ArrayList<>();
        rows.stream().filter(row -> LEFT_OUT.contains(row.nodes())).forEach(row -> rest.seconds(row.operation(),
            row.nodes(), row.perNode(), row.bytes()).ifPresent(predicted -> all.add(new Comparison(row.operation()
            + ", " + row.nodes() + " nodes of " + row.perNode() + ", " + row.bytes() + " bytes", "us", predicted * 1e6,
            row.seconds() * 1e6))));
        return all;
    }
}
