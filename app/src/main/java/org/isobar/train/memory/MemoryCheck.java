package org.isobar.train.memory;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.device.Device;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.model.ModelSpec;
import org.isobar.nn.Recompute;
import org.isobar.tensor.DType;

/**
 * Holds what a run needs of its device against what is free, before any of it is allocated. Where that is too little,
 * it tries other settings by dry runs, so that what it proposes does fit.
 */
public final class MemoryCheck {
    /**
     * What no plan counts. On a CPU heap and code grow by half of that after the check; a GPU's driver loads kernels,
     * those of cuBLASLt above all, when they are first launched, and gives memory in pages of 2 MiB.
     */
    private static final long PROGRAM_BYTES = 128L << 20;
    /**
     * What NCCL takes for a communicator: an estimate, not measured. By default its buffers are of 4 MiB, 4.7 MiB and
     * 0.5 MiB for its three protocols, for each channel and neighbour that it receives from: two with a ring and a
     * tree, over the 24 or so channels between GPUs of one node.
     */
    private static final long NCCL_BYTES = 512L << 20;

    private final Device device;
    private final Run run;
    private final long available;

    /**
     * The run in question.
     *
     * @param model   its model
     * @param batch   local samples of a step
     * @param compute type that products are computed in
     * @param member  this process among the others
     * @param inputs  what brings the samples
     * @param saving  what it saves under way
     */
    public record Run(ModelSpec model, int batch, DType compute, Member member, Inputs inputs, Saving saving) {
        private Run with(int otherBatch, DType otherCompute) {
            return new Run(model, otherBatch, otherCompute, member, inputs, saving);
        }

        private Run with(Recompute more) {
            return new Run(model.with(more), batch, compute, member, inputs, saving);
        }

        private MemoryPlan plan() {
            return MemoryPlan.of(model, batch, compute, member.grid, member.rank);
        }
    }

    /** What a run saves under way. */
    public enum Saving { CHECKPOINTS, NOTHING }

    /**
     * A process of a job.
     *
     * @param grid    how the processes share the work
     * @param rank    which of them this is
     * @param carrier of their collectives
     */
    public record Member(ProcessGrid grid, int rank, CommBackend carrier) {
        /** The groups, each with a communicator, that this rank shares weights, tokens or gradients with. */
        private long groups() {
            return Stream.of(Set.of(Axis.TP), Set.of(Axis.CP), Set.of(Axis.DP), Set.of(Axis.DP, Axis.CP),
                    EnumSet.allOf(Axis.class))
                .map(axes -> grid.group(rank, axes).ranks()).filter(ranks -> ranks.size() > 1).distinct().count();
        }

        private long ncclBytes(Device device) {
            return carrier.overNccl(device) ? groups() * NCCL_BYTES : 0;
        }
    }

    /**
     * What the loaders take.
     *
     * @param sampleBytes input and target of one sample
     * @param slots       batches of so many samples that there are buffers for
     * @param besides     bytes of the device, other than batches
     */
    public record Inputs(long sampleBytes, IntUnaryOperator slots, long besides) {
        private long bytes(Device device, int batch) {
            return device.inputBytes(batch * sampleBytes, slots.applyAsInt(batch)) + besides;
        }
    }

    private MemoryCheck(Device device, Run run, long available) {
        this.device = device;
        this.run = run;
        this.available = available;
    }

    /**
     * The plan of a run that fits into {@code available} bytes.
     *
     * @throws OutOfDeviceMemoryException if it does not: what it needs, what there is, and which setting would fit
     */
    public static MemoryPlan require(Device device, Run run, long available) {
        return new MemoryCheck(device, run, available).require();
    }

    private MemoryPlan require() {
        MemoryPlan plan = run.plan();
        Map<String, Long> parts = parts(run, plan);
        if (sum(parts) > available) {
            String list = parts.entrySet().stream().filter(part -> part.getValue() > 0)
                .map(part -> gigabytes(part.getValue()) + " " + part.getKey()).collect(Collectors.joining(", "));
            throw new OutOfDeviceMemoryException("this run needs " + gigabytes(sum(parts)) + " GB of memory (" + list
                + ") and " + gigabytes(available) + " GB are free; " + advice());
        }
        return plan;
    }

    private Map<String, Long> parts(Run candidate, MemoryPlan plan) {
        Map<String, Long> parts = new LinkedHashMap<>();
        parts.put("parameters and optimizer", plan.stateBytes());
        parts.put("activations", plan.keptBytes());
        parts.put("temporaries", plan.scratchBytes());
        parts.put("workspace", device.workspaceBytes(plan.footprint()));
        boolean copied = candidate.saving() == Saving.CHECKPOINTS && Backend.of(device) == Backend.CPU;
        parts.put("a checkpoint's copy", copied ? plan.savedBytes() : 0); // in host memory
        parts.put("batches", candidate.inputs().bytes(device, candidate.batch()));
        parts.put("NCCL", run.member().ncclBytes(device));
        parts.put("the program", PROGRAM_BYTES);
        return parts;
    }

    private static long sum(Map<String, Long> parts) {
        return parts.values().stream().mapToLong(Long::longValue).sum();
    }

    private String advice() {
        int batch = largestBatch(run.compute());
        List<String> ways = new ArrayList<>();
        if (batch > 0) {
            ways.add("--local_batch_size " + batch);
        }
        if (run.compute() == DType.F32 && device.supports(DType.BF16)) {
            int half = largestBatch(DType.BF16);
            if (half == run.batch()) {
                ways.add("--amp_mode bf16");
            } else if (half > batch) {
                ways.add("--amp_mode bf16 --local_batch_size " + half);
            }
        }
        Stream.of(Recompute.values()).filter(more -> more.compareTo(run.model().recompute()) > 0)
            .filter(more -> fits(run.with(more))).findFirst()
            .ifPresent(more -> ways.add("--recompute " + more.name().toLowerCase(Locale.ROOT)));
        return ways.isEmpty()
            ? "no batch is small enough: lower embed_dim or depth, or raise patch_size"
            : "it fits with " + String.join(", or with ", ways) + "; or lower embed_dim or depth, or raise patch_size";
    }

    /** The largest local batch, at most that of the run, with which it fits; 0 if there is none. */
    private int largestBatch(DType compute) {
        int fits = 0;
        int tooLarge = run.batch() + 1;
        while (tooLarge - fits > 1) {
            int middle = (fits + tooLarge) >>> 1;
            if (fits(run.with(middle, compute))) {
                fits = middle;
            } else {
                tooLarge = middle;
            }
        }
        return fits;
    }

    private boolean fits(Run candidate) {
        return sum(parts(candidate, candidate.plan())) <= available;
    }
}
