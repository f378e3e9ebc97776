package org.isobar.config.keys;

import static org.isobar.config.keys.NoEffect.Where.ANYWHERE;
import static org.isobar.config.keys.NoEffect.Where.ON_CPU;
import static org.isobar.config.keys.NoEffect.Where.ON_CPU_WITHOUT_BF16;
import static org.isobar.config.keys.ValueType.FLAG;
import static org.isobar.config.keys.ValueType.PATH;
import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.oneOf;
import static org.isobar.config.keys.ValueType.real;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/** How the model is trained, as in the tutorial. */
public final class TrainingKeys extends KeyGroup {
    private static final int MOST_SAMPLES = 1 << 20; // of a batch
    private static final String TRANSFORMER_ENGINE = "transformer-engine";

    public final Key<Integer> dt = add(Key.fixedOnResume("dt", count(1),
        "Forecast lead, in time steps of the data.").defaultsTo(1));
    public final Key<Integer> globalBatchSize = add(Key.fixedOnResume("global_batch_size", count(1, MOST_SAMPLES),
        "Samples per step over all processes and micro-batches."));
    public final Key<Optional<Integer>> localBatchSize = add(Key.freeOnResume("local_batch_size",
        count(1, MOST_SAMPLES), "Samples per micro-batch and data-parallel process; overrides global_batch_size.")
        .optional().asOption());
    public final Key<Optional<Integer>> accumulateSteps = add(Key.freeOnResume("accumulate_steps",
        count(1, MOST_SAMPLES), "Micro-batches per step: each process sums the gradients of N batches before the "
            + "weights are updated, so that a large batch fits into memory. Default: 1.")
        .optional().asOption("N", "accumulate"));
    public final Key<Integer> numIters = add(Key.fixedOnResume("num_iters", count(1), "Optimizer steps.").asOption());
    public final Key<AmpMode> ampMode = add(Key.fixedOnResume("amp_mode", oneOf(AmpMode.class),
        "Type of a GPU's matrix products and attention; weights stay in fp32. none: TF32, or fp32 with "
            + "NVIDIA_TF32_OVERRIDE=0.").defaultsTo(AmpMode.NONE).asOption()
        .noEffect(ON_CPU, AmpMode.FP16, "trains in fp32")
        .noEffect(ON_CPU_WITHOUT_BF16, AmpMode.BF16, "this processor has no products in bf16: trains in fp32"));
    public final Key<Boolean> enableFused = add(Key.freeOnResume("enable_fused", FLAG,
        "On a GPU, update all weights in one kernel launch instead of one per tensor.").defaultsTo(false).asOption()
        .noEffect(ON_CPU, true, "Adam is always one fused pass"));
    public final Key<Boolean> enableJit = add(Key.freeOnResume("enable_jit", FLAG,
        "On a GPU, fuse operations into kernels that are compiled for the run's sizes.").defaultsTo(false).asOption()
        .noEffect(ON_CPU, true, "there are no kernels to compile"));
    public final Key<Boolean> enableCudaGraphs = add(Key.freeOnResume("enable_cuda_graphs", FLAG,
        "On a GPU, capture a training step once as a CUDA graph and launch that.").defaultsTo(false).asOption()
        .noEffect(ON_CPU, true, "there are no kernels to capture"));
    public final Key<Path> expdir = add(Key.freeOnResume("expdir", PATH,
        "Directory that runs write below. Default: the preset's, with LOGDIR in place of /logs.").asOption("DIR"));
    public final Key<LrSchedule> lrSchedule = add(Key.fixedOnResume("lr_schedule", oneOf(LrSchedule.class),
        "Learning rate over the run: cosine, half a cosine down to 0; none, constant.")
        .defaultsTo(LrSchedule.NONE));
    public final Key<Double> lr = add(Key.fixedOnResume("lr", real("above 0", lr -> lr > 0),
        "Largest learning rate."));
    public final Key<Integer> warmup = add(Key.fixedOnResume("warmup", count(0),
        "Steps in which the learning rate rises to the cosine, with lr_schedule cosine.").defaultsTo(0));
    public final Key<String> optimizer = add(Key.fixedOnResume("optimizer", ValueType.only("Adam"),
        "The optimizer.").defaultsTo("Adam"));
    public final Key<Optional<String>> modelBackend = add(Key.freeOnResume("model_backend",
        oneOf(Set.of("pytorch", TRANSFORMER_ENGINE)),
        "The tutorial's choice of layers: pytorch or transformer-engine. Isobar's own layers train with either.")
        .optional().noEffect(ANYWHERE, Optional.of(TRANSFORMER_ENGINE), "Isobar's own layers train"));
}
