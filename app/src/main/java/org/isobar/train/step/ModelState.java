package org.isobar.train.step;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.SliceAssignment;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.device.Device;
import org.isobar.device.ops.StepControl;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.optim.Adam;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** The training state of this rank: weights, Adam's moments and Adam's control values. */
public final class ModelState {
    private static final long SHARD_BYTES = 64L << 20; // of the ranks that write; many small files delay a file system

    private final Device device;
    private final ParameterStore parameters;
    private final Adam adam;

    /**
     * This rank's slice of a checkpoint tensor.
     *
     * @param name  name of the tensor in the checkpoint
     * @param shape shape of the whole tensor
     * @param shard which slice of it this rank holds
     * @param here  the slice on this rank's device, F32
     */
    public record Slice(String name, Shape shape, Shard shard, Tensor here) { }

    ModelState(Device device, ParameterStore parameters, Adam adam) {
        this.device = device;
        this.parameters = parameters;
        this.adam = adam;
    }

    /** The values of {@link org.isobar.device.ops.StepControl}; waits for all issued steps. */
    public double[] control() {
        return adam.control();
    }

    /** This rank's slices of all weights and of the two moments of each weight. */
    private List<Slice> slices() {
        List<Slice> slices = new ArrayList<>();
        Map<String, Tensor> values = parameters.stateDict();
        Map<String, Tensor> firstMoments = parameters.named(adam.firstMoments());
        Map<String, Tensor> secondMoments = parameters.named(adam.secondMoments());
        for (Parameter parameter : parameters.parameters()) {
            for (Parameter.Part part : parameter.parts()) {
                String name = part.name();
                slices.add(new Slice(name, part.shape(), part.shard(), values.get(name)));
                slices.add(new Slice(TensorSlice.firstMoment(name), part.shape(), part.shard(),
                    firstMoments.get(name)));
                slices.add(new Slice(TensorSlice.secondMoment(name), part.shape(), part.shard(),
                    secondMoments.get(name)));
            }
        }
        return slices;
    }

    /**
     * The slices that {@code rank} writes. Ranks with equal slices divide them, so that each slice is written once; of
     * a small model, some ranks write none.
     */
    public List<Slice> share(ProcessGrid grid, int rank) {
        Map<Boolean, List<Slice>> bySharding = slices().stream()
            .collect(Collectors.partitioningBy(slice -> slice.shard().parts() > 1));
        List<Slice> share = new ArrayList<>(
            share(bySharding.get(true), grid.group(rank, EnumSet.complementOf(EnumSet.of(Axis.TP)))));
        share.addAll(share(bySharding.get(false), grid.group(rank, Axis.values())));
        return share;
    }

    private static List<Slice> share(List<Slice> slices, ProcessGroup sharers) {
        return slices.isEmpty() ? slices
            : SliceAssignment.assign(slices, slice -> slice.here().bytes(), sharers.size(),
                sharers.index(), SHARD_BYTES);
    }

    /** Bytes of the slices that all ranks write together. */
    public long bytes() {
        return slices().stream().mapToLong(slice -> slice.shape().elements() * Float.BYTES).sum();
    }

    /**
     * Restores this state from a checkpoint. Each rank reads only its own slices.
     *
     * @param control control values of that checkpoint
     * @throws UserException if the checkpoint is damaged or belongs to another model
     */
    public void restore(Checkpoint checkpoint, double[] control) {
        Map<String, Slice> slices = slices().stream().collect(Collectors.toMap(Slice::name, slice -> slice));
        check(checkpoint, slices);
        if (control.length != StepControl.SIZE) {
            throw new UserException("checkpoint " + checkpoint.path() + " has " + control.length
                + " control values instead of " + StepControl.SIZE + "; resume from another checkpoint");
        }
        device.ops().memory().fill(parameters.values(), 0); // padding
        long largest = slices.values().stream().mapToLong(slice -> slice.here().bytes()).max().orElse(0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(largest, Float.BYTES); // reused, because touching new memory is slow
            for (String name : checkpoint.names()) { // in file order
                Slice slice = slices.get(name);
                MemorySegment host = buffer.asSlice(0, slice.here().bytes());
                checkpoint.read(name, slice.shard(), host);
                device.upload(slice.here(), host);
            }
        }
        parameters.refresh(device.ops());
        adam.setControl(control);
    }

    private static void check(Checkpoint checkpoint, Map<String, Slice> slices) {
        for (String name : checkpoint.names()) {
            if (!slices.containsKey(name)) {
                throw new UserException("the configured model has no tensor " + name + ", but checkpoint "
                    + checkpoint.path() + " has; give the configuration that it was made with");
            }
        }
        for (Slice slice : slices.values()) {
            if (!checkpoint.shape(slice.name()).equals(slice.shape())) {
                throw new UserException("tensor " + slice.name() + " has shape " + checkpoint.shape(slice.name())
                    + " in checkpoint " + checkpoint.path() + ", but " + slice.shape()
                    + " in the configured model; give the configuration that the checkpoint was made with");
            }
        }
    }
}
