package org.isobar.plan.calibrate;

import java.util.ArrayList;
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

    /** Prepares measurements of a configuration of one process on {@code device}. */
    public OperationCalibration(RunConfig config, Device device) {
        issued = operations(config, device);
        benchmark = new StepBenchmark(config, device,
            new StepBenchmark.Plan(1, 2, Timing.MEASURED, StepBenchmark.Detail.OPERATIONS)); // measure() has the steps
    }

    /**
     * Measures {@code steps} steps.
     *
     * @return a row for each name, type and size: the mean over the operations of that size, each with the
     *         time up to the next operation
     */
    public List<MeasuredOperation> measure(int steps) {
        double[] seconds = benchmark.operationSeconds(steps);
        if (seconds.length != issued.size()) {
            throw new IllegalStateException(seconds.length + " times for " + issued.size() + " operations");
        }
        Map<StepEvent.Operation, double[]> sums = new LinkedHashMap<>();
        for (int i = 0; i < seconds.length; i++) {
            double[] sum = sums.computeIfAbsent(issued.get(i), _ -> new double[2]);
            sum[0]++;
            sum[1] += seconds[i];
        }
        return sums.entrySet().stream().filter(entry -> entry.getKey().bytes() > 0)
            .map(entry -> new MeasuredOperation(entry.getKey().name(), entry.getKey().type().name(),
                entry.getKey().flops(), entry.getKey().bytes(),
                Math.max(1e-9, entry.getValue()[1] / entry.getValue()[0]))).toList();
    }

    /** The operations of a step one by one, in the order of issue. */
    private static List<StepEvent.Operation> operations(RunConfig config, Device device) {
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
