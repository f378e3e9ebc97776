package org.isobar.bench.suite;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.Timing;

/**
 * Measures steps of models that differ from a middle model in tokens, width or depth. The head size is constant and the
 * batch is one sample.
 */
final class GrowthParts {
    private static final Duration LIMIT = Duration.ofSeconds(240);
    private static final int HEAD = 32; // channels

    private final SuiteSetup setup;
    private final PartRunner parts;
    private final Model middle;

    /** Sizes of a model. */
    private record Model(int height, int patch, int embed, int depth) {
        Model withPatch(int other) {
            return new Model(height, other, embed, depth);
        }

        Model withEmbed(int other) {
            return new Model(height, patch, other, depth);
        }

        Model withDepth(int other) {
            return new Model(height, patch, embed, other);
        }
    }

    GrowthParts(SuiteSetup setup, PartRunner parts) {
        this.setup = setup;
        this.parts = parts;
        middle = setup.size() == SuiteSize.REHEARSED ? new Model(32, 8, 64, 1) : new Model(128, 8, 192, 6);
    }

    void run() {
        measure("growth-middle", middle);
        boolean all = setup.size() == SuiteSize.WHOLE;
        for (int patch : all ? new int[] {16, 4} : new int[] {16}) {
            measure("growth-patch-" + patch, middle.withPatch(patch));
        }
        for (int times : all ? new int[] {2, 4} : new int[] {2}) {
            measure("growth-embed-" + times * middle.embed, middle.withEmbed(times * middle.embed));
            measure("growth-depth-" + times * middle.depth, middle.withDepth(times * middle.depth));
        }
    }

    private void measure(String name, Model model) {
        boolean rehearsed = parts.timing() == Timing.REHEARSED;
        List<String> command = new ArrayList<>(setup.isobar());
        command.addAll(List.of("bench", "step", "--device=cpu", "--config=demo", "--local_batch_size=1",
            "--set", "img_size=[" + model.height + ", " + 2 * model.height + "]", "--set", "patch_size=" + model.patch,
            "--set", "embed_dim=" + model.embed, "--set", "num_heads=" + model.embed / HEAD,
            "--set", "depth=" + model.depth, "--whole_steps", "--json=" + parts.json(name),
            rehearsed ? "--warmup_steps=1" : "--warmup_steps=30", rehearsed ? "--steps=2" : "--steps=15"));
        if (rehearsed) {
            command.add("--rehearse");
        }
        parts.run(new PartRunner.Plan(name, command, LIMIT));
    }
}
