package org.isobar.plan.cost;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.isobar.fault.UserException;
import org.isobar.nn.Recompute;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.plan.machine.Quantity;
import org.isobar.plan.trace.StepEvent;
import org.isobar.plan.trace.TutorialStep;
import org.isobar.vit.VitConfig;

/**
 * Costs of the tutorial's program: the rate of each class of kernels is that of a recorded step of preset base with 16
 * samples. Attention is scaled from its heads, computed as 64 channels, to others by the published speed of
 * FlashAttention-2.
 */
public final class TutorialCosts implements OperationCosts {
    /** The shape of preset base. */
    static final VitConfig BASE = new VitConfig(360, 720, 8, 20, 20, 384, 12, 8, 1536, 0, Recompute.NONE);
    private static final int BASE_BATCH = 16;
    /** FlashAttention-2 on an H100, 4,096 tokens, published TFLOP/s of 64 and 128 channels: forward, backward. */
    private static final double FORWARD_128 = 368.0 / 321;
    private static final double BACKWARD_128 = 310.0 / 279;

    private final Map<String, Double> rates = new HashMap<>(); // bytes or padded flops per second
    private final Map<String, Roofline> products = new HashMap<>();

    /**
     * The rates of a machine.
     *
     * @param half whether autocast is on
     * @throws UserException if the machine has no profile of this precision, or one that its bandwidth excludes
     */
    public TutorialCosts(Machine machine, boolean half) {
        String profile = half ? "bf16" : "tf32";
        Map<String, Quantity> recorded = machine.profiles().get(profile);
        if (recorded == null) {
            throw new UserException("machine " + machine.name() + " has no profile of the tutorial's program ("
                + profile + "); choose perlmutter-a100-40, perlmutter-a100-80, h100-nvl or h100-sxm,"
                + " or leave --program=tutorial out");
        }
        Map<String, Double> seconds = new TreeMap<>();
        recorded.forEach((name, time) -> seconds.merge(name.equals("gemm_splitk") ? "gemm" : name,
            time.value() / 1e3, Double::sum));
        List<StepEvent.Operation> base = TutorialStep.of(BASE,
            new TutorialStep.Layout(1, 1, 1, BASE_BATCH, half, false)).operations().toList();
        double bytes = machine.value(MachineKeys.BANDWIDTH) * 1e9 * machine.value(MachineKeys.BANDWIDTH_PART);
        seconds.forEach((name, time) -> {
            List<StepEvent.Operation> members = base.stream().filter(member -> member.name().equals(name)).toList();
            if (members.stream().anyMatch(member -> member.work() == StepEvent.Work.PRODUCT)) {
                products.put(name, Roofline.fitted(members, time, bytes).orElseThrow(() -> new UserException("machine "
                    + machine.name() + ": tutorial_ms." + profile + "." + name + " is " + 1e3 * time
                    + " ms, in which its bandwidth cannot move the operands of these products")));
            } else {
                rates.put(name, members.stream().mapToDouble(TutorialCosts::work).sum() / time);
            }
        });
    }

    @Override
    public double seconds(StepEvent.Operation operation) {
        Roofline roofline = products.get(operation.name());
        if (roofline != null) {
            return roofline.seconds(operation);
        }
        double rate = rates.getOrDefault(operation.name(), 0.0);
        return rate == 0 ? 0 : work(operation) / (rate * speedup(operation));
    }

    /** Bytes of a memory-bound operation; operations of attention with padded heads. */
    private static double work(StepEvent.Operation operation) {
        if (operation.work() != StepEvent.Work.ATTENTION) {
            return operation.bytes();
        }
        long head = operation.extents().getLast();
        return operation.flops() / head * padded(head);
    }

    /** The kernels of FlashAttention-2 compute with 32, 64, 96, 128, 160, 192 or 256 channels. */
    private static long padded(long head) {
        return Math.ceilDiv(head, 32) * 32;
    }

    private static double speedup(StepEvent.Operation operation) {
        if (operation.work() != StepEvent.Work.ATTENTION) {
            return 1;
        }
        double at128 = operation.phase() == StepEvent.Phase.FORWARD ? FORWARD_128 : BACKWARD_128;
        double octaves = Math.log(padded(operation.extents().getLast()) / 64.0) / Math.log(2);
        return Math.pow(at128, Math.clamp(octaves, -1, 1));
    }
}
