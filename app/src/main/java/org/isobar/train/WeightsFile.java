package org.isobar.train;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

import org.isobar.checkpoint.SafeTensors;
import org.isobar.checkpoint.SafeTensorsWriter;
import org.isobar.device.Device;
import org.isobar.fault.UserException;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.Tensor;

/** Weights in a safetensors file under the names and shapes of the PyTorch {@code state_dict}. */
final class WeightsFile {
    private WeightsFile() { }

    /**
     * Replaces all weights by those of a file.
     *
     * @throws UserException if a tensor is missing, misshaped or not the model's; no weight has changed then
     */
    static void load(Path file, ParameterStore parameters, Device device) {
        Map<String, Tensor> weights = parameters.stateDict();
        try (SafeTensors tensors = SafeTensors.open(file)) {
            check(file, tensors, weights);
            for (Map.Entry<String, Tensor> weight : weights.entrySet()) {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment host = arena.allocate(weight.getValue().bytes(), Float.BYTES);
                    tensors.read(weight.getKey(), host);
                    device.upload(weight.getValue(), host);
                }
            }
        }
    }

    private static void check(Path file, SafeTensors tensors, Map<String, Tensor> weights) {
        TreeSet<String> missing = new TreeSet<>(weights.keySet());
        tensors.names().forEach(missing::remove);
        TreeSet<String> extra = new TreeSet<>(tensors.names());
        extra.removeAll(weights.keySet());
        List<String> misshaped = new ArrayList<>();
        weights.forEach((name, weight) -> {
            if (!missing.contains(name) && !tensors.shape(name).equals(weight.shape())) {
                misshaped.add(name + " " + tensors.shape(name) + " instead of " + weight.shape());
            }
        });
        if (!missing.isEmpty() || !extra.isEmpty() || !misshaped.isEmpty()) {
            throw new UserException("--init_weights " + file + " does not fit the configured model"
                + list("lacks", missing) + list("has besides", extra) + list("has misshaped", misshaped)
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

    /** Writes all weights to a file, which appears whole or not at all. */
    static void save(Path file, ParameterStore parameters, Device device) {
        List<SafeTensorsWriter.NamedTensor> tensors = new ArrayList<>();
        parameters.stateDict().forEach((name, weight) -> tensors.add(
            new SafeTensorsWriter.NamedTensor(name, weight.shape(), host -> device.download(host, weight))));
        SafeTensorsWriter.write(file, tensors, Map.of("format", "pt"));
    }
}
