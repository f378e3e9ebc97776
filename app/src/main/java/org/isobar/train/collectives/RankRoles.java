package org.isobar.train.collectives;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;

/**
 * The roles of a grid's ranks. Ranks have the same role if along each axis both are first, both are last, or both are
 * between: no code distinguishes more, because parts of tensors are equal except the last one. So one rank of each role
 * is recorded, at most 27 with three axes, and stands for all of its role.
 */
public final class RankRoles {
    private static final int FIRST = 0;
    private static final int BETWEEN = 1;
    private static final int LAST = 2;
    private static final RankTrace LEFT_OUT = new RankTrace(Map.of(), List.of());

    private final ProcessGrid grid;
    private final Map<List<Integer>, Integer> representatives = new LinkedHashMap<>();

    /** The roles of all ranks of {@code grid}. */
    public RankRoles(ProcessGrid grid) {
        this.grid = grid;
        for (int rank = 0; rank < grid.worldSize(); rank++) {
            representatives.putIfAbsent(role(rank), rank);
        }
    }

    private List<Integer> role(int rank) {
        List<Integer> role = new ArrayList<>();
        for (Axis axis : Axis.values()) {
            int place = grid.coordinate(rank, axis);
            role.add(place == 0 ? FIRST : place == grid.size(axis) - 1 ? LAST : BETWEEN);
        }
        return role;
    }

    /** The first rank of each role. Roles at more ends of axes come first: only last parts of tensors are smaller. */
    public List<Integer> representatives() {
        return representatives.entrySet().stream()
            .sorted(Comparator.comparing(role -> Collections.frequency(role.getKey(), BETWEEN)))
            .map(Map.Entry::getValue).toList();
    }

    /** The first rank that has the role of {@code rank}. */
    public int representative(int rank) {
        return representatives.get(role(rank));
    }

    /**
     * The traces of all ranks, each with its own groups and the events of its role.
     *
     * @param recorded the trace of each of {@link #representatives}
     * @throws IllegalArgumentException if the groups of a recorded rank are not those of the grid
     */
    public List<RankTrace> spread(Map<Integer, RankTrace> recorded) {
        List<Map<String, List<Integer>>> groups = new ArrayList<>();
        for (int rank = 0; rank < grid.worldSize(); rank++) {
            groups.add(new HashMap<>());
        }
        recorded.values().stream().flatMap(trace -> trace.groups().keySet().stream()).distinct()
            .forEach(name -> place(name, groups));
        recorded.forEach((rank, trace) -> {
            if (!groups.get(rank).equals(trace.groups())) {
                throw new IllegalArgumentException("rank " + rank + " has groups " + trace.groups()
                    + ", and in the grid they are " + groups.get(rank));
            }
        });
        List<RankTrace> all = new ArrayList<>();
        for (int rank = 0; rank < groups.size(); rank++) {
            all.add(new RankTrace(groups.get(rank), recorded.get(representative(rank)).events()));
        }
        return all;
    }

    /**
     * The traces of some representatives without the other ranks, as if these had left their groups. If all
     * representatives match in this way, so do all ranks: every group has the roles of one group of representatives,
     * and what those issue in an order without a circle, all ranks can issue in the same order.
     *
     * @param recorded the trace of each of them, without sends: their peers are indices of members of whole groups
     * @return a trace of each rank; that of a rank that is left out is empty
     */
    public List<RankTrace> alone(Map<Integer, RankTrace> recorded) {
        List<RankTrace> all = new ArrayList<>(Collections.nCopies(grid.worldSize(), LEFT_OUT));
        recorded.forEach((rank, trace) -> {
            Map<String, List<Integer>> groups = new HashMap<>();
            trace.groups().forEach((name, ranks) ->
                groups.put(name, ranks.stream().filter(recorded::containsKey).toList()));
            all.set(rank, new RankTrace(groups, trace.events()));
        });
        return all;
    }

    /** Gives each rank its group along the axes that {@code name} joins; ranks of one group share its list. */
    private void place(String name, List<Map<String, List<Integer>>> groups) {
        List<Axis> axes = Stream.of(name.split("-")).map(axis -> Axis.valueOf(axis.toUpperCase(Locale.ROOT))).toList();
        grid.groups(axes).forEach(ranks -> ranks.forEach(rank -> groups.get(rank).put(name, ranks)));
    }
}
