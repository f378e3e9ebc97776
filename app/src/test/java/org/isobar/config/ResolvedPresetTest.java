package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import org.isobar.config.yaml.YamlFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The resolved configuration as a YAML file: what it says, and that it is a preset of the same run. */
class ResolvedPresetTest {
    private static final Path PRESETS = Path.of("..", "config", "ViT.yaml");

    @TempDir
    private Path directory;

    @Test
    void everyPresetIsReadBack() throws Exception {
        for (String preset : new YamlFile(PRESETS).names()) {
            RunConfig config = ConfigLoader.load(new ConfigRequest(PRESETS, preset, Map.of()));
            assertEquals(config.entries(), readBack(config).entries(), preset);
            assertEquals(config.output(), readBack(config).output(), preset);
            assertEquals(config.unused(), readBack(config).unused(), preset);
        }
    }

    @Test
    void unusualValuesAreReadBack() throws Exception {
        for (Map.Entry<String, String> setting : Map.of("lr", "1.2345678901234567e-7", "seed", "-9223372036854775808",
                "expdir", "/scratch: a \"quoted\" # path/\u00e9 ", "run_num", "007", "resume", "/some/checkpoint",
                "model_backend", "transformer-engine", "limit_nsamples", "None", "amp_mode", "bf16",
                "synthetic.seed", "3", "tensor_parallel", "1").entrySet()) {
            RunConfig config = ConfigLoader.load(new ConfigRequest(PRESETS, "tiny", Map.of())
                .with(setting.getKey(), setting.getValue()));
            assertEquals(config.entries(), readBack(config).entries(), setting.getKey());
            assertEquals(config.output(), readBack(config).output(), setting.getKey());
        }
    }

    @Test
    void listsAreReadBack() throws Exception {
        RunConfig config = ConfigLoader.load(new ConfigRequest(PRESETS, "tiny", Map.of())
            .set("channels=[u10m, 't2m', z500]").set("out_channels=[u10m, t2m]"));
        assertEquals(config.entries(), readBack(config).entries());
        assertTrue(config.yaml().contains("\n  channels:\n  - \"u10m\"\n  - \"t2m\"\n"), config.yaml());
    }

    private RunConfig readBack(RunConfig config) throws Exception {
        Path file = Files.writeString(directory.resolve("config.yaml"), config.yaml());
        return ConfigLoader.load(new ConfigRequest(file, config.name(), Map.of()));
    }

    /** The environment and options are resolved; a data directory is part of the paths. */
    @Test
    void valuesHaveYamlsTypes() throws Exception {
        String text = ConfigLoader.load(new ConfigRequest(PRESETS, "mp",
            Map.of("DATADIR", "/data/here", "LOGDIR", "/scratch")).with("lr", "5E-4")).yaml();
        JsonNode preset = new YAMLMapper().readTree(text).get("mp");
        assertTrue(preset.get("embed_dim").isInt() && preset.get("lr").isDouble()
            && preset.get("enable_jit").isBoolean() && preset.get("img_size").isArray()
            && preset.get("limit_nsamples").isNull(), text);
        assertTrue(text.contains("\n  lr: 0.00050\n") || text.contains("\n  lr: 0.0005\n"), text);
        assertEquals("/data/here/train", preset.get("train_data_path").asText());
        assertEquals("/scratch", preset.get("expdir").asText());
        Set<String> names = new TreeSet<>();
        preset.fieldNames().forEachRemaining(names::add);
        assertTrue(!names.contains("data_dir") && !names.contains("local_batch_size"), text);
    }
}
