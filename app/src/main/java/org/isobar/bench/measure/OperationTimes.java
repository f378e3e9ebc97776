package org.isobar.bench.measure;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Stopwatch;

/**
 * The operations of a training step, one by one: what each has to do, counted in a dry run of the step, and how long it
 * took, marked before and after each. Both see the same operations in the same order.
 */
final class OperationTimes {
    /** What one operation has to do. */
    private record Work(StepOperation operation, double flops, double bytes) { }

    private final List<Work> works = new ArrayList<>();
    private final List<double[]> steps = new ArrayList<>(); // seconds of each operation

    /** For the step that is taken over {@code device}: counts its operations. */
    ObservedDevice.Observer count(DryRunDevice device) {
        return new ObservedDevice.Observer() {
            private StepOperation operation;
            private double flops;
            private double bytes;

            @Override
            public void begins(StepOperation next) {
                operation = next;
                flops = device.flops();
                bytes = device.bytes();
            }

            @Override
            public void issued() {
                works.add(new Work(operation, device.flops() - flops, device.bytes() - bytes));
            }
        };
    }

    /** Forgets the operations that have been counted. */
    void forget() {
        works.clear();
    }

    /** For steps over the device of the stopwatch: marks each operation. */
    static ObservedDevice.Observer mark(Stopwatch stopwatch) {
        return new ObservedDevice.Observer() {
            @Override
            public void begins(StepOperation next) {
                stopwatch.mark();
            }

            @Override
            public void issued() {
                stopwatch.mark();
            }
        };
    }

    /** Takes in the marks of one step. */
    void add(double[] laps) {
        if (laps.length != 2 * works.size() - 1) {
            throw new IllegalStateException(laps.length + " laps of " + works.size() + " operations");
        }
        steps.add(IntStream.range(0, works.size()).mapToDouble(i -> laps[2 * i]).toArray());
    }

    /** The operations by kind and part of the step, in the order of their first; medians over the steps. */
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
