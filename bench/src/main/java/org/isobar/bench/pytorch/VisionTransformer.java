package org.isobar.bench.pytorch;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.isobar.bench.measure.StepResult;

/**
 * The tutorial's model in eager mode: pre-norm blocks, GELU by erf, a head without bias. Shapes: B samples, C channels,
 * T tokens, E embedding, h heads, D = E / h. Methods release their temporary tensors when they return, so that PyTorch
 * keeps only what backward needs.
 */
@SuppressWarnings("try") // scopes are active while they exist
final class VisionTransformer {
    private static final double EPSILON = 1e-6;

    private final StepResult.Model model;
    private final Products products;
    private final long rows;
    private final long columns;
    private final Weights weights;

    VisionTransformer(StepResult.Model model, Products products) {
        this.model = model;
        this.products = products;
        rows = model.imgSize().get(0) / model.patchSize();
        columns = model.imgSize().get(1) / model.patchSize();
        weights = new Weights(model, rows * columns);
    }

    Weights weights() {
        return weights;
    }

    /**
     * @param image (B, Cin, H, W)
     * @return (B, Cout, H, W), fp32; the caller closes it
     */
    Tensor forward(Tensor image) {
        Tensor x = embed(image);
        for (int block = 0; block < model.depth(); block++) {
            try (Tensor before = x; Tensor attended = attention(before, "blocks." + block)) {
                x = mlp(attended, "blocks." + block);
            }
        }
        try (Tensor last = x) {
            return head(last);
        }
    }

    private Tensor embed(Tensor image) {
        try (PointerScope scope = new PointerScope()) {
            long[] patch = {model.patchSize(), model.patchSize()};
            Tensor patches = torch.conv2d(products.operand(image), operand("patch_embed.proj.weight"),
                new TensorOptional(operand("patch_embed.proj.bias")), patch, new long[] {0, 0}, new long[] {1, 1}, 1);
            return retained(patches.flatten(2, -1).transpose(1, 2).add(weights.named("pos_embed"))); // (B, T, E)
        }
    }

    private Tensor attention(Tensor x, String block) {
        try (PointerScope scope = new PointerScope()) {
            Tensor y = products.operand(norm(x, block + ".norm1"));
            Tensor heads = torch.scaled_dot_product_attention(heads(y, block + ".attn.q"),
                heads(y, block + ".attn.k"), heads(y, block + ".attn.v"));
            Tensor joined = products.operand(heads.transpose(1, 2).flatten(2, -1));
            return retained(x.add(linear(joined, block + ".attn.proj")));
        }
    }

    private Tensor mlp(Tensor x, String block) {
        try (PointerScope scope = new PointerScope()) {
            Tensor hidden = linear(products.operand(norm(x, block + ".norm2")), block + ".mlp.fc1");
            return retained(x.add(linear(torch.gelu(hidden), block + ".mlp.fc2")));
        }
    }

    private Tensor head(Tensor x) {
        try (PointerScope scope = new PointerScope()) {
            Tensor normed = products.operand(norm(x, "norm"));
            long patch = model.patchSize();
            Tensor patches = torch.linear(normed, operand("head.weight")) // (B, T, P * P * C)
                .reshape(-1, rows, columns, patch, patch, model.outChannels()).permute(0, 5, 1, 3, 2, 4);
            return retained(products.single(patches.reshape(-1, model.outChannels(), rows * patch, columns * patch)));
        }
    }

    /** (B, h, T, D) in fp32. */
    private Tensor heads(Tensor x, String name) {
        return products.single(linear(x, name)).unflatten(-1, model.numHeads(), -1).transpose(1, 2);
    }

    private Tensor linear(Tensor x, String name) {
        return torch.linear(x, operand(name + ".weight"), new TensorOptional(operand(name + ".bias")));
    }

    private Tensor norm(Tensor x, String name) {
        return torch.layer_norm(x, new long[] {model.embedDim()}, new TensorOptional(weights.named(name + ".weight")),
            new TensorOptional(weights.named(name + ".bias")), EPSILON, false);
    }

    private Tensor operand(String weight) {
        return products.operand(weights.named(weight));
    }

    /** Lets a tensor outlive the scope that created it. */
    private static Tensor retained(Tensor tensor) {
        return tensor.retainReference();
    }
}
