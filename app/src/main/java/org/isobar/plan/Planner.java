package org.isobar.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.nn.Recompute;
import org.isobar.plan.cost.CollectiveCosts;
import org.isobar.plan.cost.IsobarCosts;
import org.isobar.plan.cost.OperationCosts;
import org.isobar.plan.cost.TutorialCosts;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.Quantity;
import org.isobar.plan.simulate.Timeline;
import org.isobar.train.memory.MemoryCheck;

/** Predicts memory and speed of every layout of a request. */
public final class Planner {
    private static final double GIB = 1L << 30;
    private static final String REMEDY = "More ranks, a smaller global batch or a smaller model need less.";

    private final PlanRequest request;
    private final Machine machine;
    private final StepTraces traces;
    private final CollectiveCosts collectives;
    private final int perNode;

    private Planner(PlanRequest request) {
        this.request = request;
        machine = request.machine();
        traces = new StepTraces(request);
        collectives = new CollectiveCosts(machine);
        perNode = request.ranksPerNode();
    }

    /**
     * Plans all layouts.
     *
     * @throws UserException if no layout is possible, or none fits into memory
     */
    public static Plan plan(PlanRequest request) {
        LayoutSpace space = new LayoutSpace(request);
        Planner planner = new Planner(request);
        List<List<PlannedLayout>> variants = space.layouts().parallelStream().map(planner::variants).toList();
        List<PlannedLayout> layouts = variants.stream().flatMap(List::stream).toList();
        if (layouts.isEmpty()) {
            throw new UserException("no layout fits into the memory of " + request.machine().name()
                + ": each needs more than any machine has. " + REMEDY);
        }
        Stream<LeftOut> beyond = IntStream.range(0, variants.size()).filter(i -> variants.get(i).isEmpty())
            .mapToObj(i -> new LeftOut(space.layouts().get(i).toString(), "needs more memory than any machine has"))
            .distinct();
        Plan plan = new Plan(request, layouts, Stream.concat(space.leftOut().stream(), beyond).toList());
        if (!plan.best().fits()) {
            PlannedLayout smallest = layouts.stream().min(Comparator.comparingLong(PlannedLayout::memoryBytes))
                .orElseThrow();
            throw new UserException(String.format(Locale.ROOT, "no layout fits into the memory of %s: the smallest, %s,"
                + " local batch %d, needs %.1f GB on a rank, and there are %.1f GB. %s", request.machine().name(),
                smallest.layout(), smallest.layout().localBatch(), smallest.memoryBytes() / GIB,
                smallest.capacity() / GIB, REMEDY));
        }
        return plan;
    }

    /**
     * The layout; if it does not fit, also with the least recomputation and with the fewest micro-batches that do, each
     * alone. Neither is faster than the layout itself. Empty if its bytes overflow a long.
     */
    private List<PlannedLayout> variants(PlanLayout layout) {
        List<PlannedLayout> variants = new ArrayList<>();
        MemoryCheck.unlessOverflow(() -> predict(layout)).ifPresent(variants::add);
        if (!variants.isEmpty() && !variants.getFirst().fits() && request.program() == Program.ISOBAR) {
            if (!request.fixed().keys().contains("recompute")) {
                addUntilOneFits(variants, Stream.of(Recompute.values())
                    .filter(more -> more.compareTo(layout.recompute()) > 0).map(layout::with));
            }
            if (!request.fixed().keys().contains("accumulate_steps")) {
                addUntilOneFits(variants, IntStream.rangeClosed(layout.accumulate() + 1,
                    Math.min(layout.localBatch(), traces.mostMicroBatches(variants.getFirst().layout())))
                    .filter(count -> layout.localBatch() % count == 0).mapToObj(layout::with));
            }
        }
        return variants;
    }

    private void addUntilOneFits(List<PlannedLayout> variants, Stream<PlanLayout> candidates) {
        Iterator<PlanLayout> each = candidates.iterator();
        boolean fits = false;
        while (each.hasNext() && !fits) {
            variants.add(predict(each.next()));
            fits = variants.getLast().fits();
        }
    }

    /** The prediction for one layout, in single precision where the machine does not compute in the layout's type. */
    public static PlannedLayout predict(PlanRequest request, PlanLayout layout) {
        return new Planner(request).predict(layout);
    }

    private PlannedLayout predict(PlanLayout asked) {
        PlanLayout layout = asked.with(request.precision(asked.precision()));
        ProcessGrid grid = ProcessGrid.of(layout.order().isEmpty() ? ProcessGrid.DEFAULT_ORDER : layout.order(),
            Map.of(Axis.TP, layout.tp(), Axis.CP, layout.cp(), Axis.DP, layout.dp()));
        StepTraces.Roles roles = traces.of(layout);
        Timeline timeline = new StepModel(costs(layout), collectives, perNode, launch(layout))
            .simulate(grid, roles.traces());
        Map<String, Double> breakdown = StepModel.breakdown(timeline);
        double loader = loader(layout);
        breakdown.put("loader", Math.max(0, loader - timeline.end()));
        long sharers = machine.isGpu() ? 1 : perNode;
        long other = request.program() == Program.TUTORIAL ? 0
            : (long) (GIB * (machine.value(MachineKeys.DRIVER)
                + MemoryCheck.communicators(grid, 0) * machine.value(MachineKeys.COMMUNICATOR)));
        long capacity = (long) (machine.value(MachineKeys.MEMORY) * GIB) / sharers;
        return new PlannedLayout(layout, Math.addExact(Math.addExact(roles.plannedBytes(), roles.otherBytes()), other),
            roles.plannedBytes(), capacity, Math.max(timeline.end(), loader), error(), breakdown, timeline);
    }

    private OperationCosts costs(PlanLayout layout) {
        return request.program() == Program.TUTORIAL ? new TutorialCosts(machine, layout.precision() != AmpMode.NONE)
            : new IsobarCosts(machine, perNode);
    }

    /** The tutorial's launches are part of its recorded rates, a CPU's of its measured operations. */
    private double launch(PlanLayout layout) {
        return request.program() == Program.TUTORIAL || !machine.operations().isEmpty() ? 0
            : machine.value(layout.graphs() ? MachineKeys.GRAPH_LAUNCH : MachineKeys.LAUNCH) / 1e6;
    }

    /** Seconds in which the loaders supply a batch: all ranks of a model read the same samples. */
    private double loader(PlanLayout layout) {
        double bytes = layout.localBatch() * (double) UnplannedMemory.sampleBytes(request);
        double rate = Math.min(machine.value(MachineKeys.LOADER), machine.value(MachineKeys.NODE_LOADER) / perNode);
        return bytes / (rate * 1e9);
    }

    /** The tutorial's program is as sure as its profile, Isobar on a CPU as its measured operations. */
    private double error() {
        if (request.program() == Program.TUTORIAL) {
            return machine.profiles().values().stream().flatMap(profile -> profile.values().stream())
                .map(Quantity::source).max(Enum::compareTo).orElse(Quantity.Source.GUESSED).error();
        }
        return (machine.isGpu() || machine.operations().isEmpty() ? Quantity.Source.GUESSED
            : Quantity.Source.MEASURED).error();
    }
}
