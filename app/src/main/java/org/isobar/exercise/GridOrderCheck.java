package org.isobar.exercise;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.exercise.api.RankOrder;

/** Compares the coordinates of all ranks with those of the process grid, in several orders. */
final class GridOrderCheck {
    private static final List<String> ORDERS = List.of("tp-cp-dp", "cp-tp-dp", "dp-tp-cp", "tp-dp", "dp");
    private static final Map<Axis, Integer> SIZES = Map.of(Axis.TP, 2, Axis.CP, 3, Axis.DP, 4);

    private GridOrderCheck() { }

    static void run(Answer answer) {
        RankOrder order = answer.as(RankOrder.class);
        List<String> wrong = RankThreads.alone(answer, given -> {
            List<String> found = new ArrayList<>();
            for (String axes : ORDERS) {
                compare(given, order, axes, found);
            }
            return found;
        });
        if (!wrong.isEmpty()) {
            throw new WrongAnswerException(wrong);
        }
    }

    /** Reports the first rank of an order that is wrong. */
    private static void compare(Answer answer, RankOrder order, String axes, List<String> wrong) {
        Map<String, Integer> sizes = new LinkedHashMap<>();
        Map<Axis, Integer> extents = new EnumMap<>(Axis.class);
        for (String axis : axes.split("-")) {
            int size = SIZES.get(axis(axis));
            sizes.put(axis, size);
            extents.put(axis(axis), size);
        }
        ProcessGrid grid = ProcessGrid.of(axes, extents);
        for (int rank = 0; rank < grid.worldSize(); rank++) {
            int each = rank;
            Map<String, Integer> given = answer.call("coordinates",
                () -> order.coordinates(each, axes, Map.copyOf(sizes)));
            Map<String, Integer> right = new LinkedHashMap<>();
            sizes.keySet().forEach(axis -> right.put(axis, grid.coordinate(each, axis(axis))));
            if (!right.equals(given)) {
                wrong.add("order " + axes + " of sizes " + sizes + ", rank " + rank + ": the coordinates are "
                    + given + ", and must be " + right);
                return;
            }
        }
    }

    private static Axis axis(String name) {
        return Axis.valueOf(name.toUpperCase(Locale.ROOT));
    }
}
