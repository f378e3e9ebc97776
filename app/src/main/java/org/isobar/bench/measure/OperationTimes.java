package org.isobar.bench.measure;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Stopwatch;

/**
 * Work and time of each operation of a training step. The work is counted in a dry run of the step; the time is taken
 * from a stopwatch that is marked before and after each operation. Both runs issue the same operations in the same
 * order.
 */
final class OperationTimes {
    /** Work of one operation. */
    private record Work(StepOperation operation, double flops, double bytes) { }

    private final List<Work> works = new ArrayList<>();
    private final List<double[]> steps = new ArrayList<>(); // seconds of each operation
    private final List<double[]> gaps = new ArrayList<>(); // seconds from its end to the start of the next one

    /** Returns an observer that records the work of each operation of a dry run on {@code device}. */
    ObservedDevice.Observer count(DryRunDevice device) {
        return new ObservedDevice.Observer() {
            private StepOperation operation;
            private double flops;
            private double bytes;

            @Override
            public void beforeIssue(StepOperation next) {
                operation = next;
                flops = device.flops();
                bytes = device.bytes();
            }

            @Override
            public void afterIssue() {
                works.add(new Work(operation, device.flops() - flops, device.bytes() - bytes));
            }
        };
    }

    /** Removes the operations recorded so far. */
    void clear() {
        works.clear();
    }

    /** Returns an observer that marks the stopwatch before and after each operation. */
    static ObservedDevice.Observer mark(Stopwatch stopwatch) {
        return new ObservedDevice.Observer() {
            @Override
            public void beforeIssue(StepOperation next) {
                stopwatch.mark();
            }

            @Override
            public void afterIssue() {
                stopwatch.mark();
            }
        };
    }

    /** Adds the laps of one step. */
    void add(double[] laps) {
        if (laps.length != 2 * works.size() - 1) {
            throw new IllegalStateException(laps.length + " laps for " + works.size() + " operations");
        }
        gaps.add(IntStream.range(0, works.size())
            .mapToDouble(i -> 2 * i + 1 < laps.length ? laps[2 * i + 1] : 0).toArray());
        steps.add(IntStream.range(0, works.size()).mapToDouble(i -> laps[2 * i]).toArray());
    }

    /** Seconds of each step from the start of each operation to that of the next one, in the order of issue. */
    List<double[]> untilNext() {
        return IntStream.range(0, steps.size()).mapToObj(step -> IntStream.range(0, works.size())
            .mapToDouble(i -> steps.get(step)[i] + gaps.get(step)[i]).toArray()).toList();
    }

    /** Groups operations by name and phase, in the order of their first call. Times are medians over the steps. */
    List<OperationGroup> groups(Timing timing) {
        Map<StepOperation, List<Integer>> members = new LinkedHashMap<>();
        for (int i = 0; i < works.size(); i++) {
            members.computeIfAbsent(works.get(i).operation, unused -> new ArrayList<>()).add(i);
        }
        List<OperationGroup> groups = new ArrayList<>();
        members.forEach((operation, indices) -> {
            double[] seconds = steps.stream()
                .mapToDouble(step -> indices.stream().mapToDouble(i -> step[i]).sum()).toArray();
            groups.add(new OperationGroup(operation.name(), operation.phase(), indices.size(),
                indices.stream().mapToDouble(i -> works.get(i).flops).sum(),
                indices.stream().mapToDouble(i -> works.get(i).bytes).sum(),
                timing == Timing.REHEARSED ? null : Double.valueOf(Spread.of(seconds).median())));
        });
        return groups;
    }
}
