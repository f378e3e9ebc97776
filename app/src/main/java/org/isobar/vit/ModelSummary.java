package org.isobar.vit;

import java.util.ArrayList;
import java.util.List;

import org.isobar.nn.LayerNorm;
import org.isobar.telemetry.PythonFormat;

/** Formats the model as PyTorch prints the tutorial's model: one line for each module, equal blocks merged. */
final class ModelSummary {
    private final VitShape config;
    private final List<String> lines = new ArrayList<>();

    private ModelSummary(VitShape config) {
        this.config = config;
    }

    /** The lines of the tree, joined by line breaks. */
    static String of(VitShape config) {
        ModelSummary summary = new ModelSummary(config);
        summary.model();
        return String.join("\n", summary.lines);
    }

    private void model() {
        String patch = "(" + config.patch() + ", " + config.patch() + ")";
        line(0, "VisionTransformer(");
        line(1, "(patch_embed): PatchEmbed(");
        line(2, "(proj): Conv2d(" + config.inChannels() + ", " + config.embed() + ", kernel_size=" + patch + ", stride="
            + patch + ")");
        line(1, ")");
        line(1, "(pos_drop): " + dropout());
        line(1, "(blocks): ModuleList(");
        if (config.dropout() == 0 || config.depth() == 1) {
            block(0, config.depth() - 1, "Identity()");
        } else { // the drop-path probability of the first block is 0
            block(0, 0, "Identity()");
            block(1, config.depth() - 1, "DropPath()");
        }
        line(1, ")");
        line(1, "(norm): " + norm());
        line(1, "(head): " + linear(config.embed(), config.outputPatches(1).tokenSize(), false));
        line(0, ")");
    }

    private void block(int first, int last, String dropPath) {
        int count = last - first + 1;
        line(2, count == 1 ? "(" + first + "): Block(" : "(" + first + "-" + last + "): " + count + " x Block(");
        line(3, "(drop_path): " + dropPath);
        line(3, "(norm1): " + norm());
        line(3, "(norm2): " + norm());
        line(3, "(attn): Attention(");
        for (String name : List.of("q", "k", "v")) {
            line(4, "(" + name + "): " + linear(config.embed(), config.embed(), true));
        }
        line(4, "(attn_drop): " + dropout());
        line(4, "(proj): " + linear(config.embed(), config.embed(), true));
        line(4, "(proj_drop): " + dropout());
        line(3, ")");
        line(3, "(mlp): MLP(");
        line(4, "(fc1): " + linear(config.embed(), config.hidden(), true));
        line(4, "(act): GELU(approximate='none')");
        line(4, "(fc2): " + linear(config.hidden(), config.embed(), true));
        line(4, "(drop): " + dropout());
        line(3, ")");
        line(2, ")");
    }

    private String dropout() {
        return "Dropout(p=" + PythonFormat.repr(config.dropout()) + ", inplace=False)";
    }

    private String norm() {
        return "LayerNorm((" + config.embed() + ",), eps=" + String.format("%.0e", LayerNorm.EPSILON)
            + ", elementwise_affine=True)";
    }

    private static String linear(long inputs, long outputs, boolean bias) {
        return "Linear(in_features=" + inputs + ", out_features=" + outputs + ", bias="
            + (bias ? "True" : "False") + ")";
    }

    private void line(int depth, String text) {
        lines.add("  ".repeat(depth) + text);
    }
}
