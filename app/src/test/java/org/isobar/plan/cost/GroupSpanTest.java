package org.isobar.plan.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How the groups of a grid lie on nodes. */
class GroupSpanTest {
    @ParameterizedTest
    @CsvSource({
        "cp-dp, cp, 4, '1x3, 2x2'", // [0, 1, 2] on one node, [3, 4, 5] on two
        "cp-dp, dp, 4, '3x2'", // [0, 3, 6, 9]
        "dp-cp, dp, 4, '1x4'",
        "dp-cp, cp, 4, '3x1'",
        "cp-dp, cp, 3, '1x3'",
        "cp-dp, cp, 5, '1x3, 2x2'",
        "cp-dp, dp-cp, 4, '3x4'"})
    void everySpanOfAnAxisCounts(String order, String axes, int perNode, String spans) {
        ProcessGrid grid = ProcessGrid.of(order, Map.of(Axis.CP, 3, Axis.DP, 4));
        Set<GroupSpan> found = GroupSpan.of(grid, List.of(axes.split("-")).stream()
            .map(name -> Axis.valueOf(name.toUpperCase(Locale.ROOT))).toList(), perNode);
        assertEquals(spans, found.stream().map(span -> span.nodes() + "x" + span.perNode()).sorted()
            .collect(Collectors.joining(", ")));
    }
}
