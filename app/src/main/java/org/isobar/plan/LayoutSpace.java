package org.isobar.plan;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.GraphObstacle;
import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.plan.cost.GroupSpan;
import org.isobar.plan.machine.MachineKeys;

/** Enumerates the layouts of a request, and says which are impossible. */
final class LayoutSpace {
    /** Copies of parts of samples in one gather, beyond which their launches alone take most of a step. */
    private static final long MOST_COPIES = 2048;

    private final PlanRequest request;
    private final List<PlanLayout> layouts = new ArrayList<>();
    private final List<LeftOut> leftOut = new ArrayList<>();

    /**
     * Enumerates all layouts.
     *
     * @throws UserException if none is possible
     */
    LayoutSpace(PlanRequest request) {
        this.request = request;
        request.fixed().order().ifPresent(ProcessGrid::axes); // checks its names
        checkProcesses();
        int heads = request.model().heads();
        Set<Integer> batches = new TreeSet<>();
        AmpMode configured = request.config().training().ampMode();
        if (request.precision(configured) != configured) {
            leftOut.add(new LeftOut(configured.name().toLowerCase(Locale.ROOT),
                "this CPU has no such products, and trains in fp32"));
        }
        graphObstacle().ifPresent(obstacle -> leftOut.add(new LeftOut("CUDA graphs", obstacle.reason())));
        for (int tp : divisors(request.ranks(), request.fixed().tp())) {
            if (heads % tp != 0 || request.model().hidden() % tp != 0) {
                leftOut.add(new LeftOut("tp " + tp, "does not divide the " + heads + " heads"));
                continue;
            }
            for (int cp : divisors(request.ranks() / tp, request.fixed().cp())) {
                add(tp, cp, batches);
            }
        }
        if (layouts.isEmpty()) {
            throw new UserException("no layout of " + request.ranks() + " ranks is possible: " + leftOut.stream()
                .limit(3).map(out -> out.what() + " " + out.reason()).collect(Collectors.joining("; "))
                + (batches.isEmpty() ? "" : "; a global batch that is a multiple of " + batches.iterator().next()
                    + " has one"));
        }
    }

    /** The processes of a CPU are all on one machine, on which their command starts them. */
    private void checkProcesses() {
        int most = (int) request.machine().value(MachineKeys.RANKS_PER_NODE);
        if (!request.machine().isGpu() && request.ranks() > most) {
            throw new UserException("machine " + request.machine().name() + " is planned with at most "
                + most + " processes (ranks_per_node), and "
                + request.ranks() + " are asked for; give a smaller --gpus, or a machine file with more");
        }
    }

    List<PlanLayout> layouts() {
        return List.copyOf(layouts);
    }

    List<LeftOut> leftOut() {
        return List.copyOf(leftOut);
    }

    private List<Integer> divisors(int number, Optional<Integer> fixed) {
        if (fixed.isPresent() && number % fixed.get() != 0) {
            leftOut.add(new LeftOut("" + fixed.get(), "does not divide " + number + " ranks"));
        }
        return IntStream.rangeClosed(1, number).filter(candidate -> number % candidate == 0)
            .filter(candidate -> fixed.isEmpty() || fixed.get() == candidate).boxed().toList();
    }

    private void add(int tp, int cp, Set<Integer> batches) {
        int dp = request.ranks() / tp / cp;
        Map<Axis, Integer> sizes = new EnumMap<>(Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
        sizes.values().removeIf(size -> size == 1);
        Optional<String> reason = omission(sizes.keySet()).or(() -> obstacle(cp, dp, batches));
        if (reason.isPresent()) {
            leftOut.add(new LeftOut("tp " + tp + " cp " + cp + " dp " + dp, reason.get()));
            return;
        }
        for (String order : orders(sizes)) {
            for (AmpMode precision : precisions()) {
                for (boolean graphs : graphs()) {
                    layouts.add(new PlanLayout(tp, cp, dp, order, request.globalBatch() / dp,
                        request.config().training().microBatches(), precision, request.model().recompute(), graphs));
                }
            }
        }
    }

    /** The axes among these that the order of the user omits. */
    private Optional<String> omission(Set<Axis> axes) {
        return request.fixed().order().flatMap(order -> {
            List<Axis> named = ProcessGrid.axes(order);
            return axes.stream().filter(axis -> !named.contains(axis)).map(Axis::toString)
                .reduce((a, b) -> a + " and " + b).map(missing -> "order " + order + " omits " + missing);
        });
    }

    /** Why a layout is impossible; {@code batches} receives what must divide the global batch. */
    private Optional<String> obstacle(int cp, int dp, Set<Integer> batches) {
        if (cp > request.model().tokens()) {
            return Optional.of("there are only " + request.model().tokens() + " tokens");
        }
        if (request.globalBatch() % dp != 0) {
            batches.add(dp);
            return Optional.of("dp does not divide the global batch of " + request.globalBatch());
        }
        long copies = (long) request.globalBatch() / dp * cp;
        if (cp > 1 && request.globalBatch() > dp && copies > MOST_COPIES) {
            return Optional.of("a gather over cp would copy more than " + MOST_COPIES
                + " parts one by one, samples times cp");
        }
        int accumulate = request.config().training().microBatches();
        return request.globalBatch() / dp % accumulate == 0 ? Optional.empty() : Optional.of(accumulate
            + " micro-batches do not divide the local batch of " + request.globalBatch() / dp);
    }

    /** The configured precision; for fp32 also bf16, which needs no loss scaling. */
    private List<AmpMode> precisions() {
        AmpMode configured = request.config().training().ampMode();
        if (request.program() == Program.TUTORIAL || request.fixed().keys().contains("amp_mode")
            || !request.machine().isGpu()) {
            return List.of(configured);
        }
        return configured == AmpMode.NONE ? List.of(configured, AmpMode.BF16) : List.of(configured);
    }

    private List<Boolean> graphs() {
        boolean configured = request.config().training().enableCudaGraphs();
        List<Boolean> choices = !canHaveGraphs() ? List.of(false)
            : request.fixed().keys().contains("enable_cuda_graphs") ? List.of(configured) : List.of(false, true);
        return choices.stream().filter(graphs -> !graphs || graphObstacle().isEmpty()).toList();
    }

    private boolean canHaveGraphs() {
        return request.program() == Program.ISOBAR && request.machine().isGpu();
    }

    private Optional<GraphObstacle> graphObstacle() {
        return !canHaveGraphs() ? Optional.empty() : GraphObstacle.of(request.model().dropout(),
            request.config().parallel().carrier(), request.ranks());
    }

    /** One order of each kind: orders in which all groups span the same nodes are the same. */
    private List<String> orders(Map<Axis, Integer> sizes) {
        List<String> orders = new ArrayList<>();
        if (request.fixed().order().isPresent()) {
            return List.of(request.fixed().order().get());
        }
        Set<List<Set<GroupSpan>>> seen = new LinkedHashSet<>();
        for (List<Axis> order : permutations(List.copyOf(sizes.keySet()))) {
            String name = order.stream().map(Axis::toString).collect(Collectors.joining("-"));
            ProcessGrid grid = name.isEmpty() ? ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, sizes)
                : ProcessGrid.of(name, sizes);
            if (seen.add(spans(grid))) {
                orders.add(name);
            }
        }
        return orders;
    }

    private List<Set<GroupSpan>> spans(ProcessGrid grid) {
        return Stream.of(List.of(Axis.TP), List.of(Axis.CP), List.of(Axis.DP), List.of(Axis.DP, Axis.CP))
            .map(axes -> GroupSpan.of(grid, axes, request.ranksPerNode())).toList();
    }

    private static List<List<Axis>> permutations(List<Axis> axes) {
        if (axes.isEmpty()) {
            return List.of(List.of());
        }
        List<List<Axis>> all = new ArrayList<>();
        for (Axis first : axes) {
            List<Axis> rest = axes.stream().filter(axis -> axis != first).toList();
            permutations(rest).forEach(tail -> all.add(Stream.concat(Stream.of(first), tail.stream()).toList()));
        }
        return all;
    }
}
