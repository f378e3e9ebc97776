package org.isobar.train.saving;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** Reads and writes unsharded weights as safetensors, with the names and shapes of the PyTorch {@code state_dict}. */
public final class WeightsFile {
    private final ParameterStore parameters;
    private final Device device;
    private final Communicators communicators;

    public WeightsFile(ParameterStore parameters, Device device, Communicators communicators) {
        this.parameters = parameters;
        this.device = device;
        this.communicators = communicators;
    }

    /**
     * Replaces all weights by those of a file; each rank loads its slices.
     *
     * @throws UserException if a tensor is missing, has a wrong shape, or is not part of the model; the weights are
     *                       unchanged
     */
    public void load(Path file) {
        Map<String, Tensor> weights = parameters.stateDict();
        try (SafeTensorsFile tensors = SafeTensorsFile.open(file)) {
            requireFit("weights file " + file, tensors.names(), tensors);
            for (Parameter.Part part : parts().values()) {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment whole = arena.allocate(part.shape().elements() * Float.BYTES, Float.BYTES);
                    MemorySegment slice = arena.allocate(part.local().elements() * Float.BYTES, Float.BYTES);
                    tensors.read(part.name(), whole);
                    forEachRun(part.shape(), part.shard(), (at, from, bytes) ->
                        MemorySegment.copy(whole, at, slice, from, bytes));
                    device.upload(weights.get(part.name()), slice);
                }
            }
        }
        parameters.refresh(device.ops());
    }

    /**
     * Checks that a file or checkpoint has the weights of the model.
     *
     * @param what  what it is, with its path, for the error message
     * @param names names of the weights that it has
     * @throws UserException if a tensor is missing, has a wrong shape, or is not part of the model
     */
    public void requireFit(String what, List<String> names, StoredTensors tensors) {
        Map<String, Parameter.Part> weights = parts();
        TreeSet<String> missing = new TreeSet<>(weights.keySet());
        names.forEach(missing::remove);
        TreeSet<String> extra = new TreeSet<>(names);
        extra.removeAll(weights.keySet());
        List<String> misshaped = new ArrayList<>();
        weights.forEach((name, part) -> {
            if (!missing.contains(name) && !tensors.shape(name).equals(part.shape())) {
                misshaped.add(name + " " + tensors.shape(name) + " instead of " + part.shape());
            }
        });
        if (!missing.isEmpty() || !extra.isEmpty() || !misshaped.isEmpty()) {
            throw new UserException(what + " does not fit the configured model"
                + list("lacks", missing) + list("also has", extra) + list("has misshaped", misshaped)
                + "; give the configuration that the weights were trained with");
        }
    }

    private static String list(String verb, Iterable<String> names) {
        List<String> all = new ArrayList<>();
        names.forEach(all::add);
        if (all.isEmpty()) {
            return "";
        }
        String more = all.size() > 3 ? " and " + (all.size() - 3) + " more" : "";
        return "; it " + verb + " " + String.join(", ", all.subList(0, Math.min(3, all.size()))) + more;
    }

    /** Rank 0 writes all weights to a file, atomically. Called by all ranks, because rank 0 gathers their slices. */
    public void save(Path file) {
        if (isReplica() || communicators.coordinate(Axis.TP) > 0) {
            giveSlices();
        } else {
            Map<String, Tensor> weights = parameters.stateDict();
            List<SafeTensorsWriter.NamedTensor> tensors = new ArrayList<>();
            parts().forEach((name, part) -> tensors.add(new SafeTensorsWriter.NamedTensor(name, part.shape(),
                whole -> gather(part, weights.get(name), whole))));
            SafeTensorsWriter.write(file, tensors, Map.of("format", "pt"));
        }
    }

    /** Takes part in {@link #save} without writing a file: issues the collectives that gather the slices. */
    public void giveSlices() {
        if (isReplica()) {
            return;
        }
        Map<String, Tensor> weights = parameters.stateDict();
        parts().forEach((name, part) -> {
            if (part.shard().parts() > 1) {
                withSlices(part, weights.get(name), slices -> { });
            }
        });
    }

    /** Whether this rank only has replicas of the slices that rank 0 and its tensor-parallel peers have. */
    private boolean isReplica() {
        return communicators.coordinate(Axis.DP) > 0 || communicators.coordinate(Axis.CP) > 0;
    }

    /** Assembles a weight from the slices of all tensor-parallel ranks in host memory. */
    private void gather(Parameter.Part part, Tensor local, MemorySegment whole) {
        if (part.shard().parts() == 1) {
            device.download(whole, local);
            return;
        }
        withSlices(part, local, slices -> {
            try (Arena staging = Arena.ofShared()) {
                MemorySegment host = staging.allocate(slices.bytes(), Float.BYTES);
                device.download(host, slices);
                for (int rank = 0; rank < part.shard().parts(); rank++) {
                    long first = rank * local.bytes();
                    forEachRun(part.shape(), new Shard(part.shard().dim(), part.shard().parts(), rank),
                        (at, from, bytes) -> MemorySegment.copy(host, first + from, whole, at, bytes));
                }
            }
        });
    }

    /** Gathers the slices of all tensor-parallel ranks for {@code use}; shape (ranks, elements of a slice). */
    private void withSlices(Parameter.Part part, Tensor local, Consumer<Tensor> use) {
        try (DeviceArena arena = device.arena("a weight's slices", bytes(part))) {
            Tensor slices = arena.f32(part.shard().parts(), local.elements());
            communicators.along(Axis.TP).allGather(slices, local).await();
            use.accept(slices);
        }
    }

    private static long bytes(Parameter.Part part) {
        return DeviceArena.align(part.shape().elements() * Float.BYTES);
    }

    /** Receives a run of contiguous bytes: its offset in the whole weight, its offset in the slice, and its length. */
    private interface Run {
        void accept(long whole, long slice, long bytes);
    }

    private static void forEachRun(Shape shape, Shard shard, Run run) {
        Shard.Runs runs = shard.runs(shape);
        long bytes = runs.length() * Float.BYTES;
        for (long i = 0; i < runs.count(); i++) {
            run.accept(runs.start(i) * Float.BYTES, i * bytes, bytes);
        }
    }

    private Map<String, Parameter.Part> parts() {
        Map<String, Parameter.Part> parts = new LinkedHashMap<>();
        parameters.parameters().forEach(parameter -> parameter.parts().forEach(part -> parts.put(part.name(), part)));
        return parts;
    }
}
