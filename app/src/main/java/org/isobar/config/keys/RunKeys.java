package org.isobar.config.keys;

import static org.isobar.config.keys.NoEffect.Where.ON_CPU;
import static org.isobar.config.keys.NoEffect.Where.ON_GPU;
import static org.isobar.config.keys.ValueType.BYTES;
import static org.isobar.config.keys.ValueType.FLAG;
import static org.isobar.config.keys.ValueType.PATH;
import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.oneOf;
import static org.isobar.config.keys.ValueType.real;
import static org.isobar.config.keys.ValueType.whole;

import java.nio.file.Path;
import java.util.Optional;

import org.isobar.backend.Backend;
import org.isobar.device.AttentionEngine;
import org.isobar.device.ProductAlgorithms;
import org.isobar.model.Architecture;
import org.isobar.nn.Recompute;

/** What computes, where a run starts and what it saves. The tutorial does not have these keys. */
public final class RunKeys extends KeyGroup {
    private static final int MOST_THREADS = 4096; // a larger number is a typing error

    public final Key<Backend> device = add(Key.freeOnResume("device", oneOf(Backend.class),
        "What computes: cuda, an NVIDIA GPU; auto, a GPU if one can be used, else the CPU.")
        .defaultsTo(Backend.AUTO).asOption());
    public final Key<Long> seed = add(Key.fixedOnResume("seed", whole(Long.MIN_VALUE, Long.MAX_VALUE),
        "Seed of weights, dropout and data order.").defaultsTo(0L).asOption());
    public final Key<Boolean> deterministic = add(Key.freeOnResume("deterministic", FLAG,
        "The same bits in each run. false lets a GPU sum attention's gradients in any order, which takes fewer "
            + "products.").defaultsTo(true).asOption()
        .noEffect(ON_CPU, false, "every sum has a fixed order"));
    public final Key<AttentionEngine.Choice> attention = add(Key.freeOnResume("attention",
        oneOf(AttentionEngine.Choice.class), "Engine of attention on a GPU in bf16 and fp16. auto: cuDNN, if it is "
            + "installed, right on this GPU, and faster than Isobar's kernels.")
        .defaultsTo(AttentionEngine.Choice.AUTO).asOption());
    public final Key<ProductAlgorithms.Choice> productAlgorithms = add(Key.freeOnResume("product_algorithms",
        oneOf(ProductAlgorithms.Choice.class), "Algorithms of a GPU's matrix products. timed: the fastest of eight "
            + "that cuBLASLt proposes, timed once on this GPU; heuristic: the one that cuBLASLt prefers.")
        .defaultsTo(ProductAlgorithms.Choice.TIMED).asOption().noEffect(ON_CPU, "cuBLASLt computes on a GPU"));
    public final Key<Recompute> recompute = add(Key.freeOnResume("recompute", oneOf(Recompute.class),
        "Activations that backward computes again, to save memory. mlp: one more product in each block; block: the "
            + "forward pass of each block.").defaultsTo(Recompute.NONE).asOption());
    public final Key<String> architecture = add(Key.fixedOnResume("architecture",
        oneOf(Architecture.registered().keySet()), "Kind of model. vit: the tutorial's vision transformer.")
        .defaultsTo("vit"));
    public final Key<Optional<Integer>> threads = add(Key.freeOnResume("threads", count(1, MOST_THREADS),
        "Compute threads of the CPU. Default: ISOBAR_THREADS, else all cores.").optional().asOption()
        .noEffect(ON_GPU, "the GPU computes"));
    public final Key<Optional<Long>> memoryLimit = add(Key.freeOnResume("memory_limit", BYTES,
        "Most memory that the plan of one training process may need, such as 2GB. A run that is planned to need more "
            + "ends before it allocates, and says what would fit. Default: the memory that is free.")
        .optional().asOption());
    public final Key<Optional<Path>> initWeights = add(Key.freeOnResume("init_weights", PATH,
        "Start from these weights (safetensors).").optional().asOption("FILE"));
    public final Key<Resume> resume = add(Key.freeOnResume("resume", ValueType.RESUME,
        "Resume from a checkpoint: auto, the newest of this run, if there is one; a PATH, that one.")
        .defaultsTo(new Resume.Never()).asOption());
    public final Key<Boolean> force = add(Key.freeOnResume("force", FLAG,
        "Resume even if the configuration or the data changed in a way that changes the result.")
        .defaultsTo(false).asOption());
    public final Key<Optional<Integer>> checkpointEvery = add(Key.freeOnResume("checkpoint_every", count(1),
        "Save a checkpoint every N steps, besides at the end of each epoch.").optional().asOption());
    public final Key<Optional<Double>> checkpointMinutes = add(Key.freeOnResume("checkpoint_minutes",
        real("above 0 and at most 1000000", minutes -> minutes > 0 && minutes <= 1e6),
        "Save a checkpoint when M minutes have passed since the last.")
        .optional().asOption("M"));
    public final Key<Integer> keep = add(Key.freeOnResume("keep", count(0),
        "Keep the K newest checkpoints, and the best; 0 saves none.").defaultsTo(2).asOption("K"));
    public final Key<OnNan> onNan = add(Key.freeOnResume("on_nan", oneOf(OnNan.class),
        "When a loss is not finite: stop ends the run, skip leaves the step out.").defaultsTo(OnNan.STOP).asOption());
    public final Key<Optional<Integer>> validateRollout = add(Key.freeOnResume("validate_rollout", count(1),
        "After each epoch, score forecasts of N steps from 4 times of the validation years, for TensorBoard.")
        .optional().asOption());
    public final Key<Optional<Integer>> finalRollout = add(Key.freeOnResume("final_rollout", count(1),
        "At the end, log scores of forecasts of N steps from 16 times of the validation years, beside persistence.")
        .optional().asOption());
    public final Key<Optional<StepRange>> trace = add(Key.freeOnResume("trace", ValueType.STEP_RANGE,
        "Write a timeline of these steps of all ranks, such as 10-12, to trace.json.").optional().asOption());
    public final Key<Optional<Path>> dataDir = add(Key.freeOnResume("data_dir", PATH,
        "Directory in place of /data in the preset's paths. Default: DATADIR.").optional().asOption("DIR"));
}
