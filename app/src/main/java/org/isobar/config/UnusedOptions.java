package org.isobar.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.Backend;
import org.isobar.os.HostMachine;

/**
 * Which options that were asked for change nothing in this run, so that nobody believes they did.
 *
 * @param anywhere whatever computes
 * @param onCpu    on the CPU besides
 * @param onGpu    on a GPU besides
 */
public record UnusedOptions(List<String> anywhere, List<String> onCpu, List<String> onGpu) {

    static UnusedOptions of(Settings settings, int worldSize) {
        return new UnusedOptions(anywhere(settings, worldSize), onCpu(settings), onGpu(settings));
    }

    /** The sentence that says so of a run on {@code backend}, if there is anything to say. */
    public Optional<String> sentence(Backend backend) {
        boolean gpu = backend == Backend.CUDA;
        List<String> idle = new ArrayList<>(gpu ? onGpu : onCpu);
        idle.addAll(anywhere);
        return idle.isEmpty() ? Optional.empty() : Optional.of("Without effect on "
            + (gpu ? "a GPU" : "the CPU") + ": " + String.join(", ", idle) + ".");
    }

    private static List<String> onCpu(Settings settings) {
        List<String> idle = new ArrayList<>();
        addIf(idle, settings.get(Keys.AMP_MODE) == AmpMode.FP16, "amp_mode fp16 (trains in fp32)");
        addIf(idle, settings.get(Keys.AMP_MODE) == AmpMode.BF16 && !HostMachine.multipliesBf16(),
            "amp_mode bf16 (this processor has no products in bf16: trains in fp32)");
        addIf(idle, settings.get(Keys.DATA_LOADER_CONFIG) == DataLoaderConfig.DALI,
            "data_loader_config dali (there is nothing to copy: one loader serves both names)");
        addIf(idle, settings.get(Keys.ENABLE_FUSED), "enable_fused (Adam is always one fused pass)");
        addIf(idle, settings.get(Keys.ENABLE_JIT), "enable_jit (there are no kernels to compile)");
        addIf(idle, settings.get(Keys.ENABLE_CUDA_GRAPHS), "enable_cuda_graphs (there are no kernels to capture)");
        addIf(idle, !settings.get(Keys.DETERMINISTIC), "deterministic (every sum has a fixed order)");
        return idle;
    }

    private static List<String> onGpu(Settings settings) {
        List<String> idle = new ArrayList<>();
        addIf(idle, settings.isGiven(Keys.THREADS), "threads (the GPU computes)");
        return idle;
    }

    private static List<String> anywhere(Settings settings, int worldSize) {
        List<String> idle = new ArrayList<>();
        addIf(idle, worldSize == 1 && settings.isGiven(Keys.BUCKET_CAP_MB),
            "bucket_cap_mb (one process sends no gradients)");
        addIf(idle, worldSize == 1 && settings.isGiven(Keys.COMM_BACKEND),
            "comm_backend (one process talks to nobody)");
        addIf(idle, settings.get(Keys.DISABLE_BROADCAST_BUFFERS),
            "disable_broadcast_buffers (the model has no buffers)");
        addIf(idle, worldSize == 1 && settings.get(Keys.NODDP), "noddp (one process reduces no gradients)");
        addIf(idle, worldSize == 1 && settings.isAnyGiven(List.of(Keys.COMM_TIMEOUT, Keys.START_TIMEOUT)),
            "comm_timeout, start_timeout (one process waits for nobody)");
        settings.get(Keys.DATA_DIR)
            .filter(dir -> Keys.DATA_PATHS.stream().noneMatch(key -> settings.get(key).startsWith(dir)))
            .ifPresent(dir -> idle.add("data_dir (no path of this preset starts with /data or ./data)"));
        return idle;
    }

    private static void addIf(List<String> list, boolean condition, String text) {
        if (condition) {
            list.add(text);
        }
    }
}
