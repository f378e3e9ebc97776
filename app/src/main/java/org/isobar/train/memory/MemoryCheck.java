package org.isobar.train.memory;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.model.ModelSpec;
import org.isobar.nn.Recompute;
import org.isobar.tensor.DType;

/**
 * Compares the memory that a run needs with the memory that is free, before anything is allocated. If there is too
 * little, dry runs with other settings find some that fit, and the error message proposes them.
 */
public final class MemoryCheck {
    /**
     * Memory that no plan counts. On a CPU, heap and code grow by about half of this after the check. On a GPU, the
     * driver loads kernels, mainly those of cuBLASLt, when they are first launched, and allocates in pages of 2 MiB.
     */
    private static final long PROGRAM_BYTES = 128L << 20;
    /**
     * Memory of one NCCL communicator: an estimate, not measured. By default, NCCL has buffers of 4 MiB, 4.7 MiB and
     * 0.5 MiB for its three protocols, for each channel and each neighbor that it receives from: two neighbors with a
     * ring and a tree, and about 24 channels between the GPUs of one node.
     */
    private static final long NCCL_BYTES = 512L << 20;
    private static final String NO_BATCH = "no batch is small enough: lower embed_dim or depth, or raise patch_size";

    private final Device device;
    private final Run run;
    private final MemoryBudget budget;

    /**
     * The settings of a run that determine its memory.
     *
     * @param model   the model
     * @param batch   local batch size
     * @param microBatches batches of a step
     * @param compute type of matrix products
     * @param member  this process and the job's process grid
     * @param inputs  memory of the data loaders
     * @param saving  whether the run trains, and saves checkpoints
     */
    public record Run(ModelSpec model, int batch, int microBatches, DType compute, Member member, Inputs inputs,
        Saving saving) {
        private Run with(int otherBatch, DType otherCompute) {
            return new Run(model, otherBatch, microBatches, otherCompute, member, inputs, saving);
        }

        /** This run in a job of {@code times} as many processes, which cut each model along one more axis. */
        private Run cut(Axis axis, int times) {
            ProcessGrid grid = member.grid;
            Map<Axis, Integer> sizes = new EnumMap<>(Axis.class);
            grid.order().forEach(each -> sizes.put(each, grid.size(each) * (each == axis ? times : 1)));
            String order = grid.order().stream().map(Axis::toString).collect(Collectors.joining("-"));
            return new Run(model, batch, microBatches, compute,
                new Member(ProcessGrid.of(order, sizes), 0, member.carrier), inputs, saving);
        }

        private Run with(Recompute more) {
            return new Run(model.with(more), batch, microBatches, compute, member, inputs, saving);
        }

        private MemoryPlan plan() {
            return saving == Saving.NO_TRAINING
                ? MemoryPlan.ofForecast(model, batch, compute, member.grid, member.rank)
                : MemoryPlan.of(model, batch, microBatches, compute, member.grid, member.rank);
        }
    }

    /** What a run saves during training. */
    public enum Saving {
        /** Checkpoints. */
        CHECKPOINTS,
        /** Nothing. */
        NOTHING,
        /** The run does not train: it has no gradients and no optimizer. */
        NO_TRAINING
    }

    /**
     * A process of a job.
     *
     * @param grid    the process grid
     * @param rank    rank of this process
     * @param carrier backend of the collectives
     */
    public record Member(ProcessGrid grid, int rank, CommBackend carrier) {
        private long ncclBytes(Device device) {
            return carrier.overNccl(device) ? communicators(grid, rank) * NCCL_BYTES : 0;
        }
    }

    /**
     * Memory of the data loaders.
     *
     * @param sampleBytes bytes of the input and target of one sample
     * @param slots       number of buffered batches, as a function of the batch size
     * @param otherBytes  device memory for other purposes than batches, in bytes
     */
    public record Inputs(long sampleBytes, IntUnaryOperator slots, long otherBytes) {
        private long bytes(Device device, int batch) {
            return device.inputBytes(Math.multiplyExact(batch, sampleBytes), slots.applyAsInt(batch)) + otherBytes;
        }
    }

    private MemoryCheck(Device device, Run run, MemoryBudget budget) {
        this.device = device;
        this.run = run;
        this.budget = budget;
    }

    /** Number of groups of more than one rank that a rank belongs to in a run; each has a communicator. */
    public static long communicators(ProcessGrid grid, int rank) {
        return Stream.of(Set.of(Axis.TP), Set.of(Axis.CP), Set.of(Axis.DP), Set.of(Axis.DP, Axis.CP),
                EnumSet.allOf(Axis.class))
            .map(axes -> grid.group(rank, axes).ranks()).filter(ranks -> ranks.size() > 1).distinct().count();
    }

    /**
     * Returns the memory plan of a run and checks that it fits into {@code available} bytes, and that the device can
     * compute it.
     *
     * @throws org.isobar.fault.UserException if the device has no kernels for it
     * @throws OutOfDeviceMemoryException if it does not fit; names the memory needed, the memory free, and settings
     *                                    that fit
     */
    public static MemoryPlan require(Device device, Run run, long available) {
        return require(device, run, new MemoryBudget(available, MemoryBudget.Source.FREE));
    }

    /** Does the same for the memory that a process may use. */
    public static MemoryPlan require(Device device, Run run, MemoryBudget budget) {
        return new MemoryCheck(device, run, budget).require();
    }

    private MemoryPlan require() {
        MemoryPlan plan = unlessOverflow(run::plan).orElseThrow(MemoryCheck::beyondAnyMachine);
        device.require(plan.footprint());
        Map<String, Long> parts = unlessOverflow(() -> parts(run, plan)).orElseThrow(MemoryCheck::beyondAnyMachine);
        if (sum(parts) > budget.bytes()) {
            String list = parts.entrySet().stream().filter(part -> part.getValue() > 0)
                .map(part -> gigabytes(part.getValue()) + " " + part.getKey()).collect(Collectors.joining(", "));
            throw new OutOfDeviceMemoryException("this run needs " + gigabytes(sum(parts)) + " GB of memory (" + list
                + ") and " + budget.exceededBy(sum(parts)) + "; " + advice(plan));
        }
        return plan;
    }

    private static OutOfDeviceMemoryException beyondAnyMachine() {
        return new OutOfDeviceMemoryException("this run needs more memory than any machine has; lower "
            + "local_batch_size, embed_dim or depth, or raise patch_size");
    }

    private Map<String, Long> parts(Run candidate, MemoryPlan plan) {
        Map<String, Long> parts = new LinkedHashMap<>();
        parts.put(candidate.saving() == Saving.NO_TRAINING ? "parameters" : "parameters and optimizer",
            plan.stateBytes());
        parts.put("activations", plan.keptBytes());
        parts.put("temporaries", plan.scratchBytes());
        parts.put("workspace", device.workspaceBytes(plan.footprint()));
        boolean copied = candidate.saving() == Saving.CHECKPOINTS && Backend.of(device) == Backend.CPU;
        parts.put("a checkpoint's copy", copied ? plan.savedBytes() : 0); // in host memory
        parts.put("batches", candidate.inputs().bytes(device, candidate.batch()));
        parts.put("NCCL", candidate.member().ncclBytes(device));
        parts.put("the program", PROGRAM_BYTES);
        return parts;
    }

    private static long sum(Map<String, Long> parts) {
        return parts.values().stream().reduce(0L, Math::addExact);
    }

    private String advice(MemoryPlan plan) {
        if (plan.stateBytes() > budget.bytes() && budget.source() == MemoryBudget.Source.FREE
            && run.with(1, run.compute()).plan().stateBytes() > budget.bytes()) { // found with a single dry run
            return NO_BATCH;
        }
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
        if (batch > 0 && run.saving() == Saving.CHECKPOINTS) {
            ways.add(smallerMicroBatches(batch));
        }
        if (budget.source() == MemoryBudget.Source.LIMIT) { // more processes on this machine leave less free for each
            ways.addAll(moreProcesses());
        }
        return ways.isEmpty()
            ? NO_BATCH
            : "it fits with " + String.join(", or with ", ways) + "; or lower embed_dim or depth, or raise patch_size";
    }

    /** Options for the same global batch in micro-batches of at most {@code most} samples. */
    private String smallerMicroBatches(int most) {
        int batch = IntStream.rangeClosed(1, most).filter(size -> run.batch() % size == 0).max().orElseThrow();
        return "--local_batch_size " + batch + " --accumulate " + (long) run.microBatches() * (run.batch() / batch)
            + " (the same global batch)";
    }

    /** Options for more processes, each within the limit: the smallest number along tp, and along cp. */
    private List<String> moreProcesses() {
        List<String> ways = new ArrayList<>();
        for (Axis axis : List.of(Axis.TP, Axis.CP)) {
            IntStream.of(2, 4, 8).filter(times -> fits(axis, times)).findFirst().ifPresent(times -> ways.add(
                (axis == Axis.TP ? "--tensor_parallel " : "--context_parallel ")
                    + run.member().grid().size(axis) * times + " and " + times + " times as many processes"));
        }
        return ways;
    }

    private boolean fits(Axis axis, int times) {
        Run cut = run.cut(axis, times);
        return run.model().canBeCut(cut.member().grid().size(Axis.TP), cut.member().grid().size(Axis.CP)) && fits(cut);
    }

    /** The largest local batch size, at most the run's, with which the run fits; 0 if there is none. */
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
        return unlessOverflow(() -> sum(parts(candidate, candidate.plan()))).filter(bytes -> bytes <= budget.bytes())
            .isPresent();
    }

    /**
     * The result of a dry run, which counts bytes with {@link Math#multiplyExact(long, long)}; empty if they overflow a
     * long. Compiled code may throw the exception of an overflow without its message.
     */
    public static <T> Optional<T> unlessOverflow(Supplier<T> dryRun) {
        try {
            return Optional.of(dryRun.get());
        } catch (ArithmeticException | DeviceArena.FullException beyond) {
            if ("/ by zero".equals(beyond.getMessage())) {
                throw beyond;
            }
            return Optional.empty();
        }
    }
}
