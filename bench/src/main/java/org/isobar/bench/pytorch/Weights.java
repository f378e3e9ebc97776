package org.isobar.bench.pytorch;

import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.isobar.bench.measure.SeededNumbers;
import org.isobar.bench.measure.StepResult;

/** The weights of a model by the names of the tutorial's state_dict, with Isobar's initial values. */
final class Weights {
    private static final int MLP_RATIO = 4;

    private final Map<String, Tensor> tensors = new LinkedHashMap<>();

    Weights(StepResult.Model model, long tokens) {
        long embed = model.embedDim();
        long patch = model.patchSize();
        add("patch_embed.proj.weight", embed, model.inChannels(), patch, patch);
        add("patch_embed.proj.bias", embed);
        add("pos_embed", 1, tokens, embed);
        for (int block = 0; block < model.depth(); block++) {
            String name = "blocks." + block;
            norm(name + ".norm1", embed);
            for (String linear : new String[] {"q", "k", "v", "proj"}) {
                linear(name + ".attn." + linear, embed, embed);
            }
            norm(name + ".norm2", embed);
            linear(name + ".mlp.fc1", MLP_RATIO * embed, embed);
            linear(name + ".mlp.fc2", embed, MLP_RATIO * embed);
        }
        norm("norm", embed);
        add("head.weight", model.outChannels() * patch * patch, embed);
    }

    /** Creates a tensor with the pseudorandom values that Isobar and {@code bench/vit_torch.py} use. */
    @SuppressWarnings("restricted") // the memory of the tensor, which is reachable
    static Tensor seeded(String name, double centre, double deviation, long... shape) {
        Tensor tensor = torch.empty(shape);
        long bytes = tensor.numel() * Float.BYTES;
        SeededNumbers.fill(MemorySegment.ofAddress(tensor.data_ptr().address()).reinterpret(bytes), name, centre,
            deviation);
        return tensor;
    }

    /** The weight with that name. */
    Tensor named(String name) {
        return tensors.get(name);
    }

    /** All weights, in order. */
    TensorVector all() {
        return new TensorVector(tensors.values().toArray(Tensor[]::new));
    }

    private void norm(String name, long features) {
        add(name + ".weight", features);
        add(name + ".bias", features);
    }

    private void linear(String name, long outputs, long inputs) {
        add(name + ".weight", outputs, inputs);
        add(name + ".bias", outputs);
    }

    private void add(String name, long... shape) {
        Tensor weight = seeded(name, SeededNumbers.centre(name), SeededNumbers.WEIGHT_DEVIATION, shape);
        weight.set_requires_grad(true);
        tensors.put(name, weight);
    }
}
