package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** Groups and coordinates for every order of the four axes and all sizes of up to 16 ranks. */
class ProcessGridTest {
    private static final List<List<Axis>> AXIS_SETS = IntStream.range(1, 16)
        .mapToObj(bits -> Arrays.stream(Axis.values()).filter(axis -> (bits >> axis.ordinal() & 1) == 1).toList())
        .toList();

    @Test
    void tensorTwoPipelineFourOfSixteen() {
        ProcessGrid grid = ProcessGrid.fit("tp-dp-pp", 16, 2, 1, 4);
        assertEquals("[[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]]",
            grid.groups(Axis.DP).toString());
        assertEquals("[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]]",
            grid.groups(Axis.TP).toString());
        assertEquals("[[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]",
            grid.groups(Axis.PP).toString());
        assertEquals(2, grid.size(Axis.DP));
    }

    @Test
    void tensorFourPipelineTwoOfSixteen() {
        ProcessGrid grid = ProcessGrid.fit("tp-dp-pp", 16, 4, 1, 2);
        assertEquals("[[0, 4], [1, 5], [2, 6], [3, 7], [8, 12], [9, 13], [10, 14], [11, 15]]",
            grid.groups(Axis.DP).toString());
        assertEquals("[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]",
            grid.groups(Axis.TP).toString());
        assertEquals("[[0, 8], [1, 9], [2, 10], [3, 11], [4, 12], [5, 13], [6, 14], [7, 15]]",
            grid.groups(Axis.PP).toString());
    }

    @Test
    void groupsAreThoseOfMegatron() {
        forEveryGrid(grid -> {
            for (List<Axis> axes : AXIS_SETS) {
                assertEquals(megatron(grid, axes), grid.groups(axes), () -> grid + " along " + axes);
            }
        });
    }

    @Test
    void groupsPartitionTheRanks() {
        forEveryGrid(grid -> {
            for (List<Axis> axes : AXIS_SETS) {
                int size = axes.stream().mapToInt(grid::size).reduce(1, (a, b) -> a * b);
                List<List<Integer>> groups = grid.groups(axes);
                assertTrue(groups.stream().allMatch(group -> group.size() == size));
                assertEquals(IntStream.range(0, grid.worldSize()).boxed().toList(),
                    groups.stream().flatMap(List::stream).sorted().toList());
            }
        });
    }

    @Test
    void groupsAlongDifferentAxesMeetInOneRank() {
        forEveryGrid(grid -> {
            for (List<Axis> axes : AXIS_SETS) {
                int[] others = members(grid,
                    Arrays.stream(Axis.values()).filter(axis -> !axes.contains(axis)).toList());
                for (int group : members(grid, axes)) {
                    for (int other : others) {
                        assertEquals(1, Integer.bitCount(group & other));
                    }
                }
            }
        });
    }

    /** The groups as bit sets. */
    private static int[] members(ProcessGrid grid, List<Axis> axes) {
        return grid.groups(axes).stream().mapToInt(group -> group.stream().mapToInt(rank -> 1 << rank).sum()).toArray();
    }

    @Test
    void aGroupHoldsTheRanksOfEqualCoordinatesElsewhere() {
        forEveryGrid(grid -> {
            for (Axis axis : Axis.values()) {
                for (List<Integer> ranks : grid.groups(axis)) {
                    int last = ranks.getLast();
                    assertEquals(new ProcessGroup(axis.toString(), ranks, last), grid.group(last, axis));
                    for (int index = 0; index < ranks.size(); index++) {
                        for (Axis other : Axis.values()) {
                            assertEquals(other == axis ? index : grid.coordinate(last, other),
                                grid.coordinate(ranks.get(index), other));
                        }
                    }
                }
            }
        });
    }

    @Test
    void axesOfOneRankMayBeLeftOut() {
        assertEquals(List.of(Axis.DP, Axis.TP, Axis.CP, Axis.PP), ProcessGrid.fit("DP-tp", 4, 2, 1, 1).order());
        assertEquals("tp 2 x cp 1 x dp 2 x pp 1, order dp-tp-cp-pp", ProcessGrid.fit("dp-tp", 4, 2, 1, 1).toString());
        assertEquals("self", ProcessGrid.fit("tp", 2, 2, 1, 1).group(1).name());
        assertEquals(List.of(1), ProcessGrid.fit("tp", 2, 2, 1, 1).group(1).ranks());
    }

    @Test
    void wrongOrdersAreRefusedWithAdvice() {
        refused(() -> ProcessGrid.fit("tp-dp", 8, 2, 2, 1), "cp", "which has 2 ranks", "tp-dp-cp");
        refused(() -> ProcessGrid.fit("tp-pd", 8, 2, 1, 1), "'pd'", "Did you mean 'dp'?");
        refused(() -> ProcessGrid.fit("tensor-dp", 8, 2, 1, 1), "'tensor'", "Did you mean 'tp'?");
        refused(() -> ProcessGrid.fit("", 8, 2, 1, 1), "''", "tp-cp-dp");
        refused(() -> ProcessGrid.fit("tp-dp-", 8, 2, 1, 1), "''", "tp-cp-dp");
        refused(() -> ProcessGrid.fit("tp-dp-tp", 8, 2, 1, 1), "tp twice");
        refused(() -> ProcessGrid.fit("tp-cp-dp", 8, 3, 1, 1), "world size 8", "tp x cp x pp = 3 x 1 x 1 = 3");
        refused(() -> ProcessGrid.fit("tp-cp-dp", 8, 16, 1, 1), "not divisible");
        refused(() -> ProcessGrid.fit("tp-cp-dp", 8, 0, 1, 1), "at least 1");
        refused(() -> ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, -2)), "size -2");
    }

    private static void refused(Runnable grid, String... words) {
        String message = assertThrows(UserException.class, grid::run).getMessage();
        for (String word : words) {
            assertTrue(message.contains(word), message);
        }
    }

    private static void forEveryGrid(Consumer<ProcessGrid> check) {
        for (List<Axis> order : permutations(List.of(Axis.values()))) {
            String name = order.stream().map(Axis::toString).collect(Collectors.joining("-"));
            forEverySize(sizes -> check.accept(ProcessGrid.of(name, sizes)));
        }
    }

    private static void forEverySize(Consumer<Map<Axis, Integer>> check) {
        for (int tp = 1; tp <= 16; tp++) {
            for (int cp = 1; tp * cp <= 16; cp++) {
                for (int dp = 1; tp * cp * dp <= 16; dp++) {
                    for (int pp = 1; tp * cp * dp * pp <= 16; pp++) {
                        check.accept(new EnumMap<>(Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp, Axis.PP, pp)));
                    }
                }
            }
        }
    }

    private static List<List<Axis>> permutations(List<Axis> axes) {
        if (axes.isEmpty()) {
            return List.of(List.of());
        }
        List<List<Axis>> all = new ArrayList<>();
        for (Axis first : axes) {
            for (List<Axis> rest : permutations(axes.stream().filter(axis -> axis != first).toList())) {
                List<Axis> order = new ArrayList<>(List.of(first));
                order.addAll(rest);
                all.add(order);
            }
        }
        return all;
    }

    /**
     * The formula of Megatron-LM's {@code generate_masked_orthogonal_rank_groups}: group g and member m are decomposed
     * in the bases of the axes off and on the mask, and the rank is the inner product with the axes' global strides.
     */
    private static List<List<Integer>> megatron(ProcessGrid grid, List<Axis> mask) {
        int[] shape = grid.order().stream().mapToInt(grid::size).toArray();
        int[] strides = prefixProducts(shape);
        int[] on = IntStream.range(0, 4).filter(i -> mask.contains(grid.order().get(i))).toArray();
        int[] off = IntStream.range(0, 4).filter(i -> !mask.contains(grid.order().get(i))).toArray();
        int groupSize = Arrays.stream(on).map(i -> shape[i]).reduce(1, (a, b) -> a * b);
        List<List<Integer>> groups = new ArrayList<>();
        for (int g = 0; g < grid.worldSize() / groupSize; g++) {
            List<Integer> group = new ArrayList<>();
            for (int m = 0; m < groupSize; m++) {
                group.add(weigh(m, on, shape, strides) + weigh(g, off, shape, strides));
            }
            groups.add(group);
        }
        return groups;
    }

    private static int weigh(int number, int[] axes, int[] shape, int[] strides) {
        int[] bases = prefixProducts(Arrays.stream(axes).map(i -> shape[i]).toArray());
        int rank = 0;
        for (int k = 0; k < axes.length; k++) {
            rank += number / bases[k] % shape[axes[k]] * strides[axes[k]];
        }
        return rank;
    }

    private static int[] prefixProducts(int[] factors) {
        int[] products = new int[factors.length + 1];
        products[0] = 1;
        for (int i = 0; i < factors.length; i++) {
            products[i + 1] = products[i] * factors[i];
        }
        return products;
    }
}
