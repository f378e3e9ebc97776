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

/** All that training steps change on this rank: weights, Adam's moments, and what steers Adam. */
public final class ModelState {
    private final Device device;
    private final ParameterStore parameters;
    private final Adam adam;

    /**
     * What this rank has of a tensor of a checkpoint.
     *
     * @param name  of the tensor there
     * @param shape of the whole
     * @param shard which slice this rank has
     * @param here  where it has it, F32
     */
    public record Slice(String name, Shape shape, Shard shard, Tensor here) { }

    ModelState(Device device, ParameterStore parameters, Adam adam) {
        this.device = device;
        this.parameters = parameters;
        this.adam = adam;
    }

    /** The numbers of a {@link org.isobar.device.ops.StepControl}; waits for the steps so far. */
    public double[] control() {
        return adam.control();
    }

    /** This rank's slice of each tensor: all weights, and two moments of each. */
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

    /** What {@code rank} is to write, so that together all ranks write each slice once: they share equal slices out. */
    public List<Slice> share(ProcessGrid grid, int rank) {
        Map<Boolean, List<Slice>> byCut = slices().stream()
            .collect(Collectors.partitioningBy(slice -> slice.shard().parts() > 1));
        List<Slice> share = new ArrayList<>(
            share(byCut.get(true), grid.group(rank, EnumSet.complementOf(EnumSet.of(Axis.TP)))));
        share.addAll(share(byCut.get(false), grid.group(rank, Axis.values())));
        return share;
    }

    private static List<Slice> share(List<Slice> slices, ProcessGroup sharers) {
        return slices.isEmpty() ? slices
            : SliceAssignment.assign(slices, slice -> slice.here().bytes(), sharers.size(), sharers.index());
    }

    /**
     * Sets all of it to what a checkpoint holds; this rank reads its slices and no more.
     *
     * @param control of that checkpoint
     * @throws UserException if the checkpoint is another model's, or damaged
     */
    public void restore(Checkpoint checkpoint, double[] control) {
        Map<String, Slice> slices = slices().stream().collect(Collectors.toMap(Slice::name, slice -> slice));
        check(checkpoint, slices);
        if (control.length != StepControl.SIZE) {
            throw new UserException("checkpoint " + checkpoint.path() + " has " + control.length + " numbers of control"
                + " instead of " + StepControl.SIZE + "; give another one");
        }
        device.ops().memory().fill(parameters.values(), 0); // padding
        long largest = slices.values().stream().mapToLong(slice -> slice.here().bytes()).max().orElse(0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment room = arena.allocate(largest, Float.BYTES); // one for all: fresh memory is slow
            for (String name : checkpoint.names()) { // as they lie in the files
                Slice slice = slices.get(name);
                MemorySegment host = room.asSlice(0, slice.here().bytes());
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
