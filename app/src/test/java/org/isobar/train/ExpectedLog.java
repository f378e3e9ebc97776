package org.isobar.train;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Every line of the log of a run of preset tiny over two epochs, as a regular expression. */
final class ExpectedLog {
    private static final String INFO = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d,\\d{3} - root - INFO - ";
    /** Python's repr and its %f. */
    private static final String REPR = "\\d+\\.\\d+(e-\\d\\d)?";
    private static final String FIXED = "\\d+\\.\\d{6}";
    private static final List<String> KEYS = List.of("embed_dim 48", "depth 2", "dropout 0.0", "patch_size 8",
        "num_heads 4", "img_size [32, 64]", "dt 1", "global_batch_size 2", "local_batch_size 2", "num_iters 24",
        "amp_mode none", "enable_fused False", "enable_jit False", "enable_cuda_graphs False", "expdir LOGS",
        "lr_schedule cosine", "lr 0.001", "warmup 0", "optimizer Adam", "data_loader_config pytorch",
        "num_data_workers 1", "n_in_channels 3", "n_out_channels 3",
        "train_data_path DATA/train", "valid_data_path DATA/valid",
        "inf_data_path DATA/test",
        "time_means_path DATA/stats/time_means.npy", "global_means_path DATA/stats/global_means.npy",
        "global_stds_path DATA/stats/global_stds.npy", "limit_nsamples None", "limit_nsamples_val None",
        "wireup_info env", "wireup_store tcp", "run_num 00", "bucket_cap_mb 25", "disable_broadcast_buffers False",
        "noddp False", "tensor_parallel 1", "context_parallel 1", "pipeline_parallel 1",
        "parallel_order tp-cp-dp", "comm_backend auto",
        "comm_timeout 10.0", "start_timeout 120.0",
        "device auto", "seed 1", "deterministic True", "recompute none",
        "resume never", "force False", "keep 2", "on_nan stop",
        "data_dir ROOT", "synthetic.seed 1", "synthetic.train_years 2", "synthetic.valid_years 1",
        "synthetic.test_years 1", "synthetic.samples_per_year 12");
    private static final String MODEL = """
        VisionTransformer(
          (patch_embed): PatchEmbed(
            (proj): Conv2d(3, 48, kernel_size=(8, 8), stride=(8, 8))
          )
          (pos_drop): Dropout(p=0.0, inplace=False)
          (blocks): ModuleList(
            (0-1): 2 x Block(
              (drop_path): Identity()
              (norm1): LayerNorm((48,), eps=1e-06, elementwise_affine=True)
              (norm2): LayerNorm((48,), eps=1e-06, elementwise_affine=True)
              (attn): Attention(
                (q): Linear(in_features=48, out_features=48, bias=True)
                (k): Linear(in_features=48, out_features=48, bias=True)
                (v): Linear(in_features=48, out_features=48, bias=True)
                (attn_drop): Dropout(p=0.0, inplace=False)
                (proj): Linear(in_features=48, out_features=48, bias=True)
                (proj_drop): Dropout(p=0.0, inplace=False)
              )
              (mlp): MLP(
                (fc1): Linear(in_features=48, out_features=192, bias=True)
                (act): GELU(approximate='none')
                (fc2): Linear(in_features=192, out_features=48, bias=True)
                (drop): Dropout(p=0.0, inplace=False)
              )
            )
          )
          (norm): LayerNorm((48,), eps=1e-06, elementwise_affine=True)
          (head): Linear(in_features=48, out_features=192, bias=False)
        )""";

    private ExpectedLog() { }

    /** The lines of a run on the data under {@code data} that writes to {@code directory}. */
    static List<String> of(Path data, Path directory) {
        Path root = data.resolve("tiny");
        List<String> lines = new ArrayList<>();
        lines.add(INFO + "Setting DP = 1, TP = 1, CP = 1, PP = 1");
        lines.add(INFO + "-{18} Configuration -{18}");
        lines.add(INFO + "Configuration file: /.*/config/ViT\\.yaml");
        lines.add(INFO + "Configuration name: tiny");
        KEYS.stream().map(key -> literal(key.replace("DATA", root.toString()).replace("ROOT", data.toString())
            .replace("LOGS", data.resolve("logs").toString()))).forEach(lines::add);
        lines.add(INFO + "-{51}");
        lines.add(INFO + "Device: .*, \\d+ threads? \\(chosen by auto: .*\\)");
        lines.add(literal("Synthetic data is complete at " + root));
        lines.add(literal("rank 0, begin data loader init"));
        dataSet(lines, root.resolve("train"), "1979.h5", 24);
        dataSet(lines, root.resolve("valid"), "1981.h5", 12);
        lines.add(literal("rank 0, data loader initialized"));
        lines.add(literal(MODEL.lines().findFirst().orElseThrow()));
        MODEL.lines().skip(1).map(Pattern::quote).forEach(lines::add);
        lines.add(INFO + "Scaffolding memory high watermark: " + REPR + " GB\\.");
        lines.add(literal("Starting Training Loop..."));
        Stream.of(1, 2).forEach(number -> epoch(lines, number));
        end(lines, directory);
        return lines;
    }

    private static void dataSet(List<String> lines, Path directory, String first, int samples) {
        lines.add(literal("Getting file stats from " + directory.resolve(first)));
        lines.add(literal("Number of samples per year: 12"));
        lines.add(literal("Found data at path " + directory + ". Number of examples: " + samples
            + ". Image Shape: 32 x 64 x 3"));
    }

    private static void epoch(List<String> lines, int number) {
        lines.add(INFO + " Memory usage after forward pass: " + REPR + " GB\\.");
        lines.add(INFO + "Time taken for epoch " + number + " is " + FIXED + " sec, avg " + FIXED + " samples/sec");
        lines.add(INFO + "  Avg train loss=" + FIXED);
        lines.add(INFO + "  Avg val loss=" + REPR);
        lines.add(INFO + "  Total validation time: " + REPR + " sec");
    }

    private static void end(List<String> lines, Path directory) {
        lines.add(INFO + "Memory at the end: anonymous " + REPR + " GB, mapped file pages " + REPR + " GB\\.");
        lines.add(INFO + "RMSE\\(u10m\\)/valid: model \\d\\.\\d{4}, persistence \\d\\.\\d{4}, ratio \\d\\.\\d{3}, "
            + "noise floor \\d\\.\\d{4}");
        lines.add(literal("Weights: " + directory.resolve("model.safetensors")));
        lines.add(literal("Picture: " + directory.resolve("prediction.png")));
        lines.add(literal("TensorBoard: tensorboard --logdir " + directory.resolve("logs")));
        lines.add(literal("DONE ---- rank 0"));
    }

    private static String literal(String message) {
        return INFO + Pattern.quote(message);
    }
}
