package org.isobar.vit;

import org.isobar.model.GraphBuilder;
import org.isobar.model.Operator;
import org.isobar.nn.LayerNorm;

/**
 * The forward pass of {@link VisionTransformer} in ONNX's operators. Weights keep the shapes of the
 * {@code state_dict}, so linear layers are {@code Gemm} with a transposed weight, over the rows (B T, C) of a batch.
 */
final class VitGraph {
    private final VitShape config;
    private final GraphBuilder graph;
    private final String rows;  // shape (B T, C)
    private final String heads; // shape (B, T, heads, C / heads)
    private final String scale;
    private final String root;
    private final String one;
    private final String half;

    VitGraph(VitShape config, GraphBuilder graph) {
        this.config = config;
        this.graph = graph;
        long headDim = config.embed() / config.heads();
        rows = graph.integers("shape.rows", -1, config.embed());
        heads = graph.integers("shape.heads", -1, config.tokens(), config.heads(), headDim);
        scale = graph.scalar("attention.scale", 1 / Math.sqrt(headDim));
        root = graph.scalar("gelu.sqrt2", Math.sqrt(2));
        one = graph.scalar("gelu.one", 1);
        half = graph.scalar("gelu.half", 0.5);
    }

    /** Adds the whole pass: {@code image} (B, Cin, H, W) to the prediction (B, Cout, H, W). */
    String prediction(String image) {
        String stream = tokens(image);
        for (int i = 0; i < config.depth(); i++) {
            stream = block("blocks." + i, stream);
        }
        return head(stream);
    }

    private String tokens(String image) { // (B T, C)
        Long side = (long) config.patch();
        Operator conv = Operator.of("Conv").list("kernel_shape", side, side).list("strides", side, side);
        String patches = graph.node("patch_embed.proj", conv, image, graph.weight("patch_embed.proj.weight"),
            graph.weight("patch_embed.proj.bias")); // (B, C, H / P, W / P)
        String channelFirst = reshape("patch_embed.flatten", patches,
            graph.integers("shape.tokens", -1, config.embed(), config.tokens()));
        String tokens = transpose("patch_embed.transpose", channelFirst, 0L, 2L, 1L);
        String sum = graph.node("pos_embed.add", Operator.of("Add"), tokens, graph.weight("pos_embed"));
        return reshape("pos_embed.rows", sum, rows);
    }

    private String block(String name, String x) {
        String attended = attention(name + ".attn", norm(name + ".norm1", x));
        String z = graph.node(name + ".attn.add", Operator.of("Add"), x, attended);
        String mlp = mlp(name + ".mlp", norm(name + ".norm2", z));
        return graph.node(name + ".mlp.add", Operator.of("Add"), z, mlp);
    }

    private String attention(String name, String x) {
        String q = graph.node(name + ".scaled", Operator.of("Mul"), linear(name + ".q", x), scale);
        String queries = split(name + ".queries", q, 0L, 2L, 1L, 3L);
        String keys = split(name + ".keys", linear(name + ".k", x), 0L, 2L, 3L, 1L);
        String values = split(name + ".values", linear(name + ".v", x), 0L, 2L, 1L, 3L);
        String scores = graph.node(name + ".scores", Operator.of("MatMul"), queries, keys); // (B, heads, T, T)
        String weights = graph.node(name + ".softmax", Operator.of("Softmax").integer("axis", -1), scores);
        String out = graph.node(name + ".out", Operator.of("MatMul"), weights, values);
        String merged = transpose(name + ".merged", out, 0L, 2L, 1L, 3L);
        return linear(name + ".proj", reshape(name + ".rows", merged, rows));
    }

    /** Cuts rows into heads and permutes (B, T, heads, C / heads). */
    private String split(String name, String x, Long... permutation) {
        return transpose(name, reshape(name + ".heads", x, heads), permutation);
    }

    private String mlp(String name, String x) {
        return linear(name + ".fc2", gelu(name + ".act", linear(name + ".fc1", x)));
    }

    /** The exact GELU: x (1 + erf(x / sqrt(2))) / 2. */
    private String gelu(String name, String x) {
        String scaled = graph.node(name + ".scaled", Operator.of("Div"), x, root);
        String erf = graph.node(name + ".erf", Operator.of("Erf"), scaled);
        String sum = graph.node(name + ".sum", Operator.of("Add"), erf, one);
        String product = graph.node(name + ".product", Operator.of("Mul"), x, sum);
        return graph.node(name, Operator.of("Mul"), product, half);
    }

    private String head(String stream) {
        long patch = config.patch();
        long down = config.height() / patch;
        long across = config.width() / patch;
        String values = graph.node("head", Operator.of("Gemm").integer("transB", 1), norm("norm", stream),
            graph.weight("head.weight")); // (B T, P P Cout)
        String patches = reshape("unpatchify.patches", values,
            graph.integers("shape.patches", -1, down, across, patch, patch, config.outChannels()));
        String image = transpose("unpatchify.transpose", patches, 0L, 5L, 1L, 3L, 2L, 4L);
        return reshape("unpatchify", image,
            graph.integers("shape.image", -1, config.outChannels(), config.height(), config.width()));
    }

    private String linear(String name, String x) {
        return graph.node(name, Operator.of("Gemm").integer("transB", 1), x, graph.weight(name + ".weight"),
            graph.weight(name + ".bias"));
    }

    private String norm(String name, String x) {
        return graph.node(name,
            Operator.of("LayerNormalization").integer("axis", -1).real("epsilon", LayerNorm.EPSILON), x,
            graph.weight(name + ".weight"), graph.weight(name + ".bias"));
    }

    private String reshape(String name, String x, String shape) {
        return graph.node(name, Operator.of("Reshape"), x, shape);
    }

    private String transpose(String name, String x, Long... permutation) {
        return graph.node(name, Operator.of("Transpose").list("perm", permutation), x);
    }
}
