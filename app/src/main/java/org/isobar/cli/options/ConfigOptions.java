package org.isobar.cli.options;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/**
 * The options that make up a run's configuration, the tutorial's and ours. But for the first three, {@code --KEY text}
 * sets the preset's key of that name; what the text may be is the key's affair, so it stands in {@code config} alone.
 */
public final class ConfigOptions {
    private static final String FILE = "--yaml_config";
    private static final String PRESET = "--config";
    private static final String SET = "--set";

    private ConfigOptions() { }

    public static void declare(CommandSpec spec) {
        option(spec, "FILE", "Presets (default: ./config/ViT.yaml, else the one beside the launcher).", FILE);
        option(spec, "NAME", "Preset to run; demo needs no data (default: base).", PRESET);
        spec.addOption(OptionSpec.builder(SET).paramLabel("KEY=VALUE").type(List.class).auxiliaryTypes(String.class)
            .description("Set any key of the preset; may be repeated.").build());

        option(spec, "TAG", "Name of this run among those of its preset (default: 00).", "--run_num");
        option(spec, "none|fp16|bf16", "Type of a GPU's matrix products and attention; weights stay in fp32. none: "
            + "TF32, or fp32 with NVIDIA_TF32_OVERRIDE=0.", "--amp_mode");
        flag(spec, "On a GPU, update all weights in one launch instead of one for each tensor.", "--enable_fused");
        flag(spec, "On a GPU, let operations share kernels, compiled for the run's sizes, instead of one for each.",
            "--enable_jit");
        flag(spec, "On a GPU, capture a training step and launch it as a CUDA graph.", "--enable_cuda_graphs");
        option(spec, "N", "Samples per step and process; overrides global_batch_size.", "--local_batch_size");
        option(spec, "N", "Optimizer steps.", "--num_iters");
        option(spec, "N", "Threads that read ahead; 0 reads in the training thread.", "--num_data_workers");
        option(spec, "pytorch|dali", "Data loader.", "--data_loader_config");
        option(spec, "MB", "Largest gradient message (default: 25).", "--bucket_cap_mb");
        flag(spec, "Do not keep buffers in step between processes.", "--disable_broadcast_buffers");
        flag(spec, "Do not reduce gradients between data-parallel processes.", "--noddp");
        option(spec, "N", "Processes that share each layer's weights (default: 1).",
            "--tensor_parallel", "--row_parallel_size");
        option(spec, "N", "Processes that share each image's tokens (default: 1).", "--context_parallel");
        option(spec, "N", "Pipeline stages; 1 for now (default: 1).", "--pipeline_parallel");
        option(spec, "AXES", "Order of processes, fastest first (default: tp-cp-dp).", "--parallel_order");

        option(spec, "auto|nccl|host", "What carries collectives: nccl, between GPUs, or host, sockets through the "
            + "host's memory, with which processes can share a GPU (default: auto, nccl for GPUs).", "--comm_backend");
        option(spec, "SECONDS", "How soon processes end when another has died or is stopped (default: 10).",
            "--comm_timeout");
        option(spec, "SECONDS", "How long processes wait for each other at the start (default: 120).",
            "--start_timeout");

        declareComputation(spec);
        declareStart(spec);
        option(spec, "DIR", "What to put in the place of /data in the presets (else DATADIR).", "--data_dir");
        option(spec, "DIR", "Where runs write (else LOGDIR in the place of /logs).", "--expdir");
    }

    /** What computes, and how. */
    private static void declareComputation(CommandSpec spec) {
        option(spec, "auto|cpu|cuda", "Where to compute: cuda is an NVIDIA GPU, auto takes one if it can be used, else "
            + "the CPU (default: auto).", "--device");
        option(spec, "N", "Compute threads of the CPU (default: all cores).", "--threads");
        option(spec, "N", "Seed of weights, dropout and data order.", "--seed");
        option(spec, "true|false", "The same bits in each run; false lets a GPU sum attention's gradients in "
            + "any order, which takes fewer products (default: true).", "--deterministic");
        option(spec, "none|mlp|block", "Activations to compute again in backward, to save memory (default: none). mlp: "
            + "one product more in each block; block: all of its forward pass.", "--recompute");
    }

    /** Where a run starts, and what others can start from. */
    private static void declareStart(CommandSpec spec) {
        option(spec, "FILE", "Start from these weights (safetensors).", "--init_weights");
        option(spec, "auto|never|PATH", "Go on from a checkpoint: auto, the newest of this run, if there is one "
            + "(default: never).", "--resume");
        flag(spec, "Resume with a configuration or data that change the result.", "--force");
        option(spec, "N", "Save a checkpoint after each N steps, besides at the end of each epoch.",
            "--checkpoint_every");
        option(spec, "M", "Save a checkpoint when M minutes have passed since the last.", "--checkpoint_minutes");
        option(spec, "K", "Keep the K newest checkpoints, and the best; 0 saves none (default: 2).", "--keep");
        option(spec, "stop|skip", "What becomes of the run when a loss is not finite (default: stop).", "--on_nan");
    }

    /** The configuration that the parsed options ask for. */
    public static RunConfig resolve(ParseResult parsed, ProgramContext launch) {
        String file = parsed.matchedOptionValue(FILE, launch.defaultPresets().toString());
        String preset = parsed.matchedOptionValue(PRESET, "base");
        ConfigRequest request = new ConfigRequest(Path.of(file), preset, launch.environment());
        for (OptionSpec option : parsed.matchedOptions()) {
            boolean commandsOwn = option.userObject() != null; // a field of it
            if (!commandsOwn && !Set.of(FILE, PRESET, SET).contains(option.names()[0])) {
                request = request.with(option.names()[0].substring("--".length()), option.getValue().toString());
            }
        }
        for (String assignment : parsed.matchedOptionValue(SET, List.<String>of())) {
            request = request.set(assignment);
        }
        return ConfigLoader.load(request);
    }

    private static void option(CommandSpec spec, String value, String description, String... names) {
        spec.addOption(OptionSpec.builder(names).paramLabel(value).type(String.class)
            .description(description).build());
    }

    private static void flag(CommandSpec spec, String description, String name) {
        spec.addOption(OptionSpec.builder(name).type(boolean.class).description(description).build());
    }
}
