package org.isobar.vit;

import java.util.List;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Shard;
import org.isobar.nn.DropoutLayer;
import org.isobar.nn.Initializer;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.Pass;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Patch embedding: converts images to tokens (Dosovitskiy et al., 2021). A convolution whose kernel size and stride are
 * the patch size is computed as a matrix product with one patch in each row. Then the learned position of each token is
 * added.
 *
 * <p>The patches have the compute type. Their product is the start of the residual stream, in single precision.
 *
 * <p>Keeps no activations: backward cuts the image into patches again.
 */
final class PatchEmbed {
    private final VitShape config;
    private final List<String> projection; // module names
    private final List<String> sum;
    private final Parameter positions;
    private final Parameter weight;
    private final Parameter bias;
    private final DropoutLayer dropout;

    /** Declares the parameters {@code pos_embed} and {@code patch_embed.proj} in the root scope {@code here}. */
    PatchEmbed(ParameterScope here, VitShape config) {
        this.config = config;
        long fanIn = (long) config.inChannels() * config.patch() * config.patch();
        Initializer uniform = new Initializer.Uniform(1 / Math.sqrt(fanIn)); // PyTorch's default for convolutions
        positions = here.declareAs(Shape.of(config.tokens(), config.embed()), "pos_embed",
            new Initializer.Normal(0.02), 1, config.tokens(), config.embed());
        ParameterScope proj = here.child("patch_embed").child("proj");
        projection = List.of(proj.module());
        sum = List.of(here.name("pos_drop"));
        weight = proj.declareAs(Shape.of(config.embed(), fanIn), "weight", uniform, config.embed(),
            config.inChannels(), config.patch(), config.patch());
        bias = proj.declare("bias", uniform, Shard.whole(), config.embed());
        dropout = new DropoutLayer(here.name("pos_drop"), config.dropout(), IndexSpan.whole(config.tokens()),
            IndexSpan.whole(config.embed()));
    }

    /** Computes {@code tokens} (B, T, C) from {@code image} (B, Cin, H, W). */
    void forward(Tensor tokens, Tensor image, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor patches = patches(image, scratch, pass);
            pass.ops().products().linear(tokens, patches, weight.compute(), new Epilogue.Bias(bias.value()));
        }
        pass.output(projection, tokens);
        pass.ops().images().addPositions(tokens, tokens, positions.value());
        dropout.apply(tokens, pass);
        pass.output(sum, tokens);
    }

    /** Adds to the gradients of positions, weight and bias. Overwrites {@code dTokens}. */
    void backward(Tensor dTokens, Tensor image, Pass pass) {
        dropout.apply(dTokens, pass);
        pass.ops().images().addPositionsBackward(positions.gradient(), dTokens);
        pass.complete(positions);
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor patches = patches(image, scratch, pass);
            pass.ops().products().linearBackwardWeight(weight.gradient(), computed(dTokens, scratch, pass), patches);
            pass.ops().products().biasBackward(bias.gradient(), dTokens);
            pass.complete(weight);
            pass.complete(bias);
        }
    }

    /** Converts a gradient to the compute type; returns the argument if it has that type. */
    private static Tensor computed(Tensor dTokens, DeviceArena.Scope scratch, Pass pass) {
        if (dTokens.dtype() == pass.compute()) {
            return dTokens;
        }
        Tensor rounded = scratch.allocate(pass.compute(), dTokens.shape().extents());
        pass.ops().memory().cast(rounded, dTokens);
        return rounded;
    }

    private Tensor patches(Tensor image, DeviceArena.Scope scratch, Pass pass) {
        long batch = image.shape().extent(0);
        Tensor patches = scratch.allocate(pass.compute(), batch, config.tokens(), weight.shape().extent(1));
        pass.ops().images().patchify(patches, image, config.inputPatches(batch));
        return patches;
    }
}
