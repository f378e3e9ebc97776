package org.isobar.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.nn.Recompute;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.plan.trace.DryStep;
import org.isobar.plan.trace.StepEvent;
import org.isobar.plan.trace.StepTrace;
import org.isobar.plan.trace.TutorialStep;
import org.isobar.tensor.DType;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.StepLaunch;
import org.isobar.train.step.StepOptions;

/**
 * The traces of a request's layouts. Layouts that differ only in order share traces. On a GPU, so do layouts that
 * differ only in the number of replicas, if it is more than one. On a CPU that number determines how much of a
 * checkpoint a rank copies.
 */
final class StepTraces {
    /** Events of a step, beyond which its simulation takes long: about a thousand micro-batches of 24 blocks. */
    private static final int MOST_EVENTS = 1 << 20;

    private final PlanRequest request;
    private final Map<Key, Roles> known = new ConcurrentHashMap<>();

    private record Key(int tp, int cp, int dp, int batch, int accumulate, AmpMode precision,
        Recompute recompute) { }

    /**
     * The traces of a layout's roles, and the memory of the fullest rank.
     *
     * @param traces       of the first part of the tokens, and of the last if it differs
     * @param plannedBytes bytes of the arenas
     * @param otherBytes   bytes of inputs and workspace, and of the copy of a checkpoint
     * @param lastEvents   events of the last micro-batch, which has the most
     */
    record Roles(List<StepTrace> traces, long plannedBytes, long otherBytes, int lastEvents) { }

    StepTraces(PlanRequest request) {
        this.request = request;
    }

    /** The traces of a layout; safe for use by several threads. */
    Roles of(PlanLayout layout) {
        int dp = request.machine().isGpu() ? Math.min(layout.dp(), 2) : layout.dp();
        return known.computeIfAbsent(new Key(layout.tp(), layout.cp(), dp, layout.localBatch() / layout.accumulate(),
            layout.accumulate(), layout.precision(), layout.recompute()),
            key -> request.program() == Program.ISOBAR ? dry(key) : tutorial(key, layout));
    }

    /** The most micro-batches with which a layout is simulated. */
    int mostMicroBatches(PlanLayout layout) {
        return MOST_EVENTS / Math.max(1, of(layout).lastEvents());
    }

    /** The step of all micro-batches, of which {@code last} is the last. */
    private static StepTrace accumulated(StepTrace last, int microBatches) {
        if (microBatches > 1 && (long) microBatches * last.events().size() > MOST_EVENTS) {
            throw new UserException("accumulate_steps is " + microBatches + "; a step of this model is planned with at "
                + "most " + MOST_EVENTS / last.events().size() + " micro-batches");
        }
        return last.accumulated(microBatches);
    }

    private Roles tutorial(Key key, PlanLayout layout) {
        StepTrace trace = TutorialStep.of(request.model(), new TutorialStep.Layout(key.tp, key.cp, layout.dp(),
            key.batch, key.precision != AmpMode.NONE, request.config().training().enableFused()));
        return new Roles(List.of(trace), TutorialMemory.bytes(request.model(), key.tp, key.cp, key.batch,
            key.precision != AmpMode.NONE), TutorialMemory.OVERHEAD, trace.events().size());
    }

    private Roles dry(Key key) {
        ProcessGrid grid = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER,
            Map.of(Axis.TP, key.tp, Axis.CP, key.cp, Axis.DP, key.dp));
        boolean even = request.model().tokens() % key.cp == 0;
        List<Integer> ranks = even ? List.of(0) : List.of(0, key.tp * (key.cp - 1));
        List<StepTrace> traces = new ArrayList<>();
        long planned = 0;
        long other = 0;
        int lastEvents = 0;
        for (int rank : ranks) {
            DryStep step = DryStep.of(request.model().with(key.recompute), key.batch, options(key), grid, rank);
            StepTrace last = sumsInProduct(key) ? step.trace() : step.trace().separated();
            traces.add(accumulated(last, key.accumulate));
            lastEvents = Math.max(lastEvents, last.events().size());
            planned = Math.max(planned, step.memory().bytes());
            other = Math.max(other, UnplannedMemory.workspaceBytes(request, step.memory().footprint())
                + UnplannedMemory.checkpointBytes(request, step.memory()));
        }
        return new Roles(traces, planned, Math.addExact(other, UnplannedMemory.inputBytes(request, key.batch)),
            lastEvents);
    }

    /** Whether a product that is a weight's gradient sums that of the bias, or the two were measured together. */
    private boolean sumsInProduct(Key key) {
        return request.machine().isGpu() ? key.precision.compute() != DType.F32
            : request.machine().operations().stream().anyMatch(row -> row.name().equals(StepEvent.PARAMETER_GRADIENTS));
    }

    private StepOptions options(Key key) {
        DType compute = key.precision.compute();
        boolean once = request.config().training().enableFused() || !request.machine().isGpu();
        return new StepOptions(compute, new Adam.Options(GradScaler.of(compute),
            once ? Adam.Launch.ONCE : Adam.Launch.PER_TENSOR),
            new GradientSync.Options(request.config().parallel().bucketCapMb(), GradientSync.Replicas.TOGETHER),
            StepLaunch.EAGER).with(key.accumulate);
    }
}
