package org.isobar.verify.layout;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.distributed.Shard;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.random.Philox;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** Moves whole tensors and slices of a rank between host and device. */
final class RankSlices {
    private final Device device;

    RankSlices(Device device) {
        this.device = device;
    }

    /** Normal values of mean 0 that depend only on the purpose and the index. */
    static float[] random(String purpose, long elements, double std) {
        return Philox.normals(Philox.Key.of(17, purpose), Math.toIntExact(elements), std);
    }

    /** Sets all weights, biases too, to random values that are equal in every layout; those of norms are around 1. */
    void fill(ParameterStore parameters) {
        Map<String, Tensor> weights = parameters.stateDict();
        for (Parameter.Part part : parts(parameters)) {
            float[] whole = random(part.name(), part.shape().elements(), 0.15);
            if (part.name().contains("norm") && part.name().endsWith("weight")) {
                for (int i = 0; i < whole.length; i++) {
                    whole[i] += 1;
                }
            }
            write(weights.get(part.name()), slice(whole, part.shape(), part.shard()));
        }
        parameters.refresh(device.ops());
    }

    /** All tensors of the {@code state_dict} with their shards. */
    static List<Parameter.Part> parts(ParameterStore parameters) {
        return parameters.parameters().stream().flatMap(parameter -> parameter.parts().stream()).toList();
    }

    /** Cuts the slice of a shard out of a whole tensor. */
    static float[] slice(float[] whole, Shape shape, Shard shard) {
        Shard.Runs runs = shard.runs(shape);
        int length = Math.toIntExact(runs.length());
        float[] slice = new float[Math.toIntExact(runs.count()) * length];
        for (int i = 0; i < runs.count(); i++) {
            System.arraycopy(whole, Math.toIntExact(runs.start(i)), slice, i * length, length);
        }
        return slice;
    }

    /** Takes entries {@code first, first + step, ...} of the outermost dimension: the samples of a replica. */
    static float[] strided(float[] whole, int entries, int first, int step) {
        int size = whole.length / entries;
        float[] picked = new float[entries / step * size];
        for (int i = 0; i < entries / step; i++) {
            System.arraycopy(whole, (first + i * step) * size, picked, i * size, size);
        }
        return picked;
    }

    void write(Tensor tensor, float[] values) {
        device.upload(tensor, MemorySegment.ofArray(values));
    }

    float[] read(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }

    /** Returns ||actual - expected|| / ||expected||. */
    static double error(float[] actual, float[] expected) {
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < expected.length; i++) {
            double d = (double) actual[i] - expected[i];
            difference += d * d;
            norm += (double) expected[i] * expected[i];
        }
        return difference == 0 ? 0 : Math.sqrt(difference / norm);
    }
}
