package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.isobar.bench.measure.StepBenchmark;
import org.isobar.bench.measure.Timing;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.trace.DryStep;
import org.isobar.plan.trace.StepEvent;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.StepOptions;

/**
 * Times of the operations of a training step on one device, by name, type and size, so that their sum is the time of a
 * step.
 */
public final class OperationCalibration {
    private final List<StepEvent.Operation> issued;
    private final StepBenchmark benchmark;
    private final List<double[]> measured = new ArrayList<>(); // of each step, the seconds of its operations

    /** Prepares measurements of a configuration of one process on {@code device}. */
    public OperationCalibration(RunConfig config, Device device) {
        issued = issued(config, device);
        benchmark = new StepBenchmark(config, device,
            new StepBenchmark.Plan(1, 2, Timing.MEASURED, StepBenchmark.Detail.OPERATIONS)); // measure() has the steps
    }

    /** Runs {@code steps} steps that do not count. */
    void warmUp(int steps) {
        benchmark.operationSeconds(steps);
    }

    /** Measures {@code steps} more steps. */
    void measure(int steps) {
        measured.addAll(benchmark.operationSeconds(steps));
    }

    /**
     * What was measured. Of all steps, the middle half by their durations counts: an interruption makes operations last
     * many times as long, and a median of each operation would not add up to a step.
     *
     * @return a row for each name, type and size: the mean over the operations of that size, each with the
     *         time up to the next operation
     */
    List<MeasuredOperation> operations() {
        List<double[]> sorted = measured.stream()
            .sorted(Comparator.comparingDouble(step -> Arrays.stream(step).sum())).toList();
        int cut = sorted.size() / 4;
        Map<StepEvent.Operation, DoubleSummaryStatistics> times = new LinkedHashMap<>();
        for (double[] step : sorted.subList(cut, sorted.size() - cut)) {
            if (step.length != issued.size()) {
                throw new IllegalStateException(step.length + " times for " + issued.size() + " operations");
            }
            for (int i = 0; i < step.length; i++) {
                times.computeIfAbsent(issued.get(i), _ -> new DoubleSummaryStatistics()).accept(step[i]);
            }
        }
        return times.entrySet().stream().filter(entry -> entry.getKey().bytes() > 0)
            .map(entry -> new MeasuredOperation(entry.getKey().name(), entry.getKey().type().name(),
                entry.getKey().flops(), entry.getKey().bytes(), Math.max(1e-9, entry.getValue().getAverage())))
            .toList();
    }

    /** The operations of a step one by one, in the order of issue. */
    private static List<StepEvent.Operation> issued(RunConfig config, Device device) {
        StepOptions options = StepOptions.of(config.training(), device, GradientSync.Options.DEFAULT);
        List<StepEvent.Operation> all = new ArrayList<>();
        DryStep.of(config.model(), config.training().localBatchSize(), options,
            ProcessGrid.fit(ProcessGrid.DEFAULT_ORDER, 1, 1, 1, 1), 0).trace().operations().forEach(operation -> {
                for (int i = 0; i < operation.repeats(); i++) {
                    all.add(operation.single());
                }
            });
        return all;
    }
}
