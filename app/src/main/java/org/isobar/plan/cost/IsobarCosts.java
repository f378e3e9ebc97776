package org.isobar.plan.cost;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.isobar.plan.machine.AttentionRate;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.plan.trace.StepEvent;
import org.isobar.tensor.DType;

/**
 * Costs of Isobar's operations without launches: a roofline for products, a rate by size of heads for attention, and
 * bytes at the rate of memory for all others. Where the machine has measured an operation, this estimate is multiplied
 * by the ratio of measured and estimated time at similar sizes: the mean of its logarithms, weighted by the inverse
 * fourth power of the distance between the logarithms of operations and bytes.
 *
 * <p>The ranks of a CPU share its cores. Their operations are those that were measured in the largest number of
 * processes at once that is not larger than the number of ranks. These processes kept all cores busy, so that more
 * ranks take longer by the ratio of the numbers.
 */
public final class IsobarCosts implements OperationCosts {
    private static final double NEAR = 1e-3; // squared distance below which a measurement counts alone

    private final Machine machine;
    private final int processes; // that ran at once when the operations were measured
    private final double sharing; // ranks that share what one of these processes had
    private final double memory; // bytes per second
    private final Map<String, List<MeasuredOperation>> measured = new HashMap<>();

    /**
     * Costs on a machine.
     *
     * @param ranks ranks of a node; those of a CPU share its cores
     */
    public IsobarCosts(Machine machine, int ranks) {
        this.machine = machine;
        Map.Entry<Integer, List<MeasuredOperation>> shared = machine.shared().floorEntry(ranks);
        processes = shared == null ? 1 : shared.getKey();
        sharing = machine.isGpu() ? 1 : (double) ranks / processes;
        memory = machine.value(MachineKeys.BANDWIDTH) * 1e9 * machine.value(MachineKeys.BANDWIDTH_PART);
        (shared == null ? machine.operations() : shared.getValue()).forEach(row ->
            measured.computeIfAbsent(row.name() + " " + row.type(), _ -> new ArrayList<>()).add(row));
    }

    @Override
    public double seconds(StepEvent.Operation operation) {
        double estimate = estimate(operation.work(), operation, operation.flops(), operation.bytes());
        List<MeasuredOperation> similar = measured.getOrDefault(operation.name() + " " + operation.type(), List.of());
        return sharing * estimate * correction(operation, similar);
    }

    private double estimate(StepEvent.Work work, StepEvent.Operation like, double flops, double bytes) {
        return switch (work) {
            case PRODUCT -> new Roofline(peak(like.type()) * machine.value(MachineKeys.PEAK_PART), memory)
                .seconds(flops, bytes);
            case ATTENTION -> flops * backwardFactor(like) / attentionRate(like);
            case MEMORY -> bytes / memory;
        };
    }

    private double peak(DType type) {
        return 1e12 * machine.value(type.bytes() == 2 ? MachineKeys.PEAK_HALF : MachineKeys.PEAK_SINGLE);
    }

    /** Backward has five products, of which the count of operations has four. */
    private static double backwardFactor(StepEvent.Operation attention) {
        return attention.name().endsWith("Backward") ? 5.0 / 4 : 1;
    }

    /** The rate of the smallest measured heads that are large enough, for the part of it that is not padding. */
    private double attentionRate(StepEvent.Operation attention) {
        boolean half = attention.type().bytes() == 2;
        long head = attention.extents().getLast();
        List<AttentionRate> rates = machine.attention().stream().filter(rate -> rate.half() == half)
            .sorted(Comparator.comparingLong(AttentionRate::headDim)).toList();
        if (rates.isEmpty()) {
            return peak(attention.type()) / 2;
        }
        AttentionRate rate = rates.stream().filter(each -> each.headDim() >= head).findFirst().orElse(rates.getLast());
        double tflops = (attention.name().endsWith("Backward") ? rate.backward() : rate.forward()).value();
        return tflops * 1e12 * Math.min(1, (double) head / rate.headDim());
    }

    private double correction(StepEvent.Operation operation, List<MeasuredOperation> similar) {
        double weights = 0;
        double sum = 0;
        for (MeasuredOperation row : similar) {
            double distance = square(operation.flops(), row.flops()) + square(operation.bytes(), row.bytes());
            double factor = Math.log(row.seconds()
                / estimate(operation.work(), operation, row.flops(), row.bytes()));
            double weight = 1 / Math.max(distance * distance, NEAR * NEAR);
            weights += weight;
            sum += weight * factor;
        }
        return weights == 0 ? processes : Math.exp(sum / weights);
    }

    private static double square(double a, double b) {
        double distance = Math.log(Math.max(a, 1)) - Math.log(Math.max(b, 1));
        return distance * distance;
    }
}
