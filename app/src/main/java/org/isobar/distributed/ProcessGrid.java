package org.isobar.distributed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.isobar.fault.UserException;

/**
 * The ranks of a job as a grid of up to four axes. In the mixed radix of the axes' sizes, the digits of a rank are its
 * coordinates; the first axis of the order is the lowest digit. This is Megatron-LM's orthogonal rank
 * generator (Narayanan et al. 2021, arXiv:2104.04473; {@code RankGenerator} in megatron/core/parallel_state.py).
 */
public final class ProcessGrid {
    /** The default order, which is that of the tutorial. */
    public static final String DEFAULT_ORDER = "tp-cp-dp";

    private final List<Axis> order;
    private final Map<Axis, Integer> sizes;
    /** Difference in rank of neighbours along an axis: the product of the sizes of all faster-varying axes. */
    private final Map<Axis, Integer> strides = new EnumMap<>(Axis.class);

    private ProcessGrid(List<Axis> order, Map<Axis, Integer> sizes) {
        this.order = List.copyOf(order);
        this.sizes = new EnumMap<>(sizes);
        int stride = 1;
        for (Axis axis : order) {
            strides.put(axis, stride);
            stride = Math.multiplyExact(stride, sizes.get(axis));
        }
    }

    /**
     * A grid of the given sizes. An axis without a size has size 1.
     *
     * @param order axes joined by '-', the fastest-varying one first; axes of size 1 may be omitted
     * @throws UserException if the order names an unknown axis, names one twice, or omits an axis of more than one rank
     */
    public static ProcessGrid of(String order, Map<Axis, Integer> sizes) {
        Map<Axis, Integer> full = new EnumMap<>(Axis.class);
        for (Axis axis : Axis.values()) {
            int size = sizes.getOrDefault(axis, 1);
            if (size < 1) {
                throw new UserException("the " + axis + " axis has size " + size + "; it needs at least one rank");
            }
            full.put(axis, size);
        }
        return new ProcessGrid(parse(order, full), full);
    }

    /**
     * A grid of {@code worldSize} ranks with dp = worldSize / (tp cp pp).
     *
     * @throws UserException if tp x cp x pp does not divide {@code worldSize}; see also {@link #of}
     */
    public static ProcessGrid fit(String order, int worldSize, int tp, int cp, int pp) {
        for (int size : new int[] {worldSize, tp, cp, pp}) {
            if (size < 1) {
                throw new UserException("world size " + worldSize + ", tp " + tp + ", cp " + cp + ", pp " + pp
                    + ": each must be at least 1");
            }
        }
        long model = Math.multiplyExact((long) tp * cp, (long) pp);
        if (worldSize % model != 0) {
            throw new UserException("world size " + worldSize + " is not divisible by tp x cp x pp = " + tp + " x " + cp
                + " x " + pp + " = " + model + "; choose a multiple of " + model + " ranks or other sizes");
        }
        return of(order, Map.of(Axis.TP, tp, Axis.CP, cp, Axis.PP, pp, Axis.DP, (int) (worldSize / model)));
    }

    /**
     * The axes that an order names, fastest first.
     *
     * @throws UserException if it names an unknown axis, or one twice
     */
    public static List<Axis> axes(String order) {
        List<Axis> axes = new ArrayList<>();
        for (String name : order.split("-", -1)) {
            Axis axis = Axis.parse(name, order);
            if (axes.contains(axis)) {
                throw new UserException("parallel order '" + order + "' names " + axis + " twice; remove one");
            }
            axes.add(axis);
        }
        return axes;
    }

    private static List<Axis> parse(String order, Map<Axis, Integer> sizes) {
        List<Axis> axes = axes(order);
        for (Axis axis : Axis.values()) {
            if (!axes.contains(axis)) {
                if (sizes.get(axis) > 1) {
                    throw new UserException("parallel order '" + order + "' omits " + axis
                        + ", which has " + sizes.get(axis) + " ranks; try '" + order + "-" + axis + "'");
                }
                axes.add(axis);
            }
        }
        return axes;
    }

    /** Number of ranks. */
    public int worldSize() {
        return sizes.values().stream().reduce(1, Math::multiplyExact);
    }

    /** Number of ranks along {@code axis}. */
    public int size(Axis axis) {
        return sizes.get(axis);
    }

    /** All four axes, the fastest-varying one first. */
    public List<Axis> order() {
        return order;
    }

    /** The coordinate of {@code rank} along {@code axis}, from 0. */
    public int coordinate(int rank, Axis axis) {
        return rank / strides.get(axis) % size(axis);
    }

    /**
     * All groups along all {@code axes} together: the ranks of a group differ only in these coordinates. Groups, and
     * ranks within a group, are in grid order.
     */
    public List<List<Integer>> groups(Collection<Axis> axes) {
        List<Integer> memberOffsets = offsets(axes);
        return offsets(EnumSet.complementOf(set(axes))).stream()
            .map(first -> memberOffsets.stream().map(offset -> first + offset).toList()).toList();
    }

    /** See {@link #groups(Collection)}. */
    public List<List<Integer>> groups(Axis... axes) {
        return groups(Arrays.asList(axes));
    }

    /** The ranks whose coordinates along all axes other than {@code axes} are 0, in grid order. */
    private List<Integer> offsets(Collection<Axis> axes) {
        List<Integer> ranks = new ArrayList<>(List.of(0));
        for (Axis axis : order) {
            if (axes.contains(axis)) {
                int inner = ranks.size();
                for (int i = inner; i < inner * size(axis); i++) {
                    ranks.add(ranks.get(i - inner) + strides.get(axis));
                }
            }
        }
        return ranks;
    }

    private static EnumSet<Axis> set(Collection<Axis> axes) {
        EnumSet<Axis> set = EnumSet.noneOf(Axis.class);
        set.addAll(axes);
        return set;
    }

    /** The group of {@code rank} along all {@code axes} together; with no axes, the group of this rank alone. */
    public ProcessGroup group(int rank, Collection<Axis> axes) {
        if (rank < 0 || rank >= worldSize()) {
            throw new IllegalArgumentException("rank " + rank + " is not in a grid of " + worldSize() + " ranks");
        }
        String name = axes.isEmpty() ? "self"
            : axes.stream().distinct().map(Axis::toString).collect(Collectors.joining("-"));
        int first = rank - set(axes).stream().mapToInt(axis -> coordinate(rank, axis) * strides.get(axis)).sum();
        return new ProcessGroup(name, offsets(axes).stream().map(offset -> first + offset).toList(), rank);
    }

    /** See {@link #group(int, Collection)}. */
    public ProcessGroup group(int rank, Axis... axes) {
        return group(rank, Arrays.asList(axes));
    }

    /** Sizes and order in one line: {@code tp 2 x cp 1 x dp 2 x pp 4, order tp-dp-pp-cp}. */
    @Override
    public String toString() {
        return Arrays.stream(Axis.values()).map(axis -> axis + " " + size(axis)).collect(Collectors.joining(" x "))
            + ", order " + order.stream().map(Axis::toString).collect(Collectors.joining("-"));
    }
}
