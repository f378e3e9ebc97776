package org.isobar.train.metrics;

import static org.isobar.train.metrics.RunMetrics.fields;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.os.HostMachine;
import org.isobar.os.ProgramVersion;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.saving.Resumption;

/** The description of a run in its metrics: configuration, layout, environment, planned memory. */
public final class RunDescription {
    private RunDescription() { }

    /**
     * Describes a process that begins or continues a run.
     *
     * @param resumption the checkpoint that it resumes from
     * @param device     of rank 0
     * @param plan       memory of rank 0
     */
    public static Map<String, Object> of(RunConfig config, Optional<Resumption> resumption, Device device,
        MemoryPlan plan) {
        return fields("continues", resumption.flatMap(Resumption::own).isPresent(),
            "resumed_from", resumption.map(from -> from.path().toString()).orElse(null),
            "preset", config.name(), "configuration_hash", hash(config.entries()), "configuration", config.entries(),
            "layout", layout(config), "environment", environment(config, device),
            "memory_planned", memory(device, plan));
    }

    private static Map<String, Object> layout(RunConfig config) {
        return fields("ranks", config.grid().worldSize(), "dp", config.grid().size(Axis.DP),
            "tp", config.grid().size(Axis.TP), "cp", config.grid().size(Axis.CP), "pp", config.grid().size(Axis.PP));
    }

    private static Map<String, Object> environment(RunConfig config, Device device) {
        return fields("version", ProgramVersion.text(), "java", Runtime.version().toString(),
            "system", System.getProperty("os.name") + " " + System.getProperty("os.version"),
            "host", HostMachine.name(), "processor", HostMachine.processor(),
            "processors", Runtime.getRuntime().availableProcessors(), "memory_bytes", HostMachine.totalMemory(),
            "device", device.description(), "preset_file", config.yamlFile().toString());
    }

    private static Map<String, Object> memory(Device device, MemoryPlan plan) {
        return fields("parameters_and_optimizer", plan.stateBytes(), "activations", plan.keptBytes(),
            "temporaries", plan.scratchBytes(), "workspace", device.workspaceBytes(plan.footprint()),
            "checkpoint_copy", plan.savedBytes());
    }

    /** SHA-256 of the configuration, key by key in alphabetical order. */
    private static String hash(Map<String, String> entries) {
        StringBuilder text = new StringBuilder();
        new TreeMap<>(entries).forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256")
                .digest(text.toString().getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
