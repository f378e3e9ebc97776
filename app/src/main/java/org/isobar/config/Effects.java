package org.isobar.config;

import java.util.ArrayList;
import java.util.List;

import org.isobar.telemetry.PythonFormat;

/** Says which options that were asked for change nothing in this run, so that nobody believes they did. */
final class Effects {
    private Effects() { }

    static List<String> withoutEffect(Settings settings, int worldSize) {
        List<String> idle = new ArrayList<>();
        if (settings.get(Keys.AMP_MODE) != AmpMode.NONE) {
            idle.add("amp_mode " + PythonFormat.str(settings.get(Keys.AMP_MODE)) + " (trains in fp32)");
        }
        addIf(idle, settings.get(Keys.ENABLE_FUSED), "enable_fused (Adam is always one fused pass)");
        addIf(idle, settings.get(Keys.ENABLE_JIT), "enable_jit (there is no graph to compile)");
        addIf(idle, settings.get(Keys.DATA_LOADER_CONFIG) == DataLoaderConfig.DALI,
            "data_loader_config dali (one loader serves both names)");
        addIf(idle, worldSize == 1 && settings.isGiven(Keys.BUCKET_CAP_MB),
            "bucket_cap_mb (one process sends no gradients)");
        addIf(idle, settings.get(Keys.DISABLE_BROADCAST_BUFFERS),
            "disable_broadcast_buffers (the model has no buffers)");
        addIf(idle, worldSize == 1 && settings.get(Keys.NODDP), "noddp (one process reduces no gradients)");
        addIf(idle, worldSize == 1 && settings.isAnyGiven(List.of(Keys.COMM_TIMEOUT, Keys.START_TIMEOUT)),
            "comm_timeout, start_timeout (one process waits for nobody)");
        settings.get(Keys.DATA_DIR)
            .filter(dir -> Roots.DATA_PATHS.stream().noneMatch(key -> settings.get(key).startsWith(dir)))
            .ifPresent(dir -> idle.add("data_dir (no path of this preset starts with /data or ./data)"));
        return idle.isEmpty()
            ? List.of()
            : List.of("Without effect here, on the CPU: " + String.join(", ", idle) + ".");
    }

    private static void addIf(List<String> list, boolean condition, String text) {
        if (condition) {
            list.add(text);
        }
    }
}
