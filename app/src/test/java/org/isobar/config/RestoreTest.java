package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.config.keys.Resume;
import org.isobar.distributed.Axis;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a run was told, from the entries that it saved. */
class RestoreTest {
    private static final Path PRESETS = Path.of("..", "config", "ViT.yaml");

    static List<String> presets() throws IOException {
        return Files.readAllLines(PRESETS).stream().filter(line -> line.matches("\\w+:.*"))
            .map(line -> line.replaceFirst(":.*", "")).toList();
    }

    private static ConfigRequest request(String preset) {
        return new ConfigRequest(PRESETS, preset, Map.of());
    }

    /** By their texts, which tell everything: process grids are not compared by value. */
    private static void assertComesBack(ConfigRequest request) {
        RunConfig config = ConfigLoader.load(request);
        ConfigRequest bare = new ConfigRequest(request.yamlFile(), request.preset(), request.environment());
        assertEquals(config.toString(), ConfigLoader.restore(config.entries(), bare).toString());
    }

    @ParameterizedTest
    @MethodSource("presets")
    void everyPresetComesBack(String preset) {
        assertComesBack(request(preset));
        assertComesBack(request(preset).with("data_dir", "/data/below/the/tutorials").with("lr", "3e-17"));
        assertComesBack(request(preset).with("data_dir", "./data/./mine").with("threads", "3"));
    }

    @Test
    void whateverTheValuesLookLike() {
        assertComesBack(request("base").with("run_num", "a: [b # c").with("wireup_info", "None")
            .with("init_weights", "[1, 2].safetensors").with("resume", "{x}/checkpoint-3").with("checkpoint_every", "7")
            .with("checkpoint_minutes", "0.5").with("amp_mode", "bf16").with("on_nan", "skip").with("seed", "-9")
            .with("comm_backend", "host").with("comm_timeout", "20").set("limit_nsamples=5").with("noddp", "true"));
        assertComesBack(request("base").set("synthetic.seed=0"));
    }

    @Test
    void theRootsOfTheEnvironmentAreNotPutTwice() {
        assertComesBack(new ConfigRequest(PRESETS, "demo", Map.of("DATADIR", "/data/era5", "LOGDIR", "/logs/mine")));
    }

    @Test
    void dataThatHaveMovedAreFound() {
        Map<String, String> entries = ConfigLoader.load(request("base").with("data_dir", "/old/era5")).entries();
        RunConfig moved = ConfigLoader.restore(entries, request("base").with("data_dir", "/new"));
        assertEquals(Path.of("/new/train"), moved.data().trainPath());
        assertEquals(Path.of("/new/stats/global_means.npy"), moved.data().globalMeansPath());
        assertEquals(Path.of("/there/valid"), ConfigLoader.restore(entries,
            new ConfigRequest(PRESETS, "base", Map.of("DATADIR", "/there"))).data().validPath());
    }

    @Test
    void constantsThatHaveMovedAreFound() {
        ConfigRequest request = request("wb2_64x32").set("constants_path=/data/constants.h5");
        Map<String, String> entries = ConfigLoader.load(request.with("data_dir", "/old/wb2")).entries();
        assertEquals("/old/wb2/constants.h5", entries.get("constants_path"));
        RunConfig moved = ConfigLoader.restore(entries, request("wb2_64x32").with("data_dir", "/new"));
        assertEquals(Optional.of(Path.of("/new/constants.h5")), moved.data().channels().constantsFile());
    }

    @ParameterizedTest
    @ValueSource(strings = {"4", "None"})
    void oneProcessTakesWhatManyShared(String localBatch) {
        Map<String, String> ofEight = Map.of("WORLD_SIZE", "8", "RANK", "5", "LOCAL_RANK", "5",
            "MASTER_ADDR", "localhost", "MASTER_PORT", "29500");
        RunConfig eight = ConfigLoader.load(new ConfigRequest(PRESETS, "base", ofEight).with("tensor_parallel", "2")
            .with("parallel_order", "dp-tp").with("global_batch_size", "16").with("local_batch_size", localBatch)
            .with("init_weights", "w.safetensors").with("resume", "auto"));
        assertEquals(4, eight.training().localBatchSize());
        RunConfig one = ConfigLoader.restore(eight.entries(), request("base").with("tensor_parallel", "1")
            .with("parallel_order", "tp-cp-dp").with("init_weights", "None").with("resume", "never"));
        assertEquals(1, one.grid().size(Axis.TP));
        assertEquals(16, one.training().globalBatchSize());
        assertEquals(16, one.training().localBatchSize());
        assertEquals(Optional.empty(), one.training().initWeights());
        assertEquals(new Resume.Never(), one.checkpoint().resume());
        assertEquals(2, ConfigLoader.restore(eight.entries(), request("base").with("tensor_parallel", "1")
            .with("local_batch_size", "2")).training().globalBatchSize());
        assertEquals(List.of(), one.changesSince(eight.entries()));
    }

    @Test
    void whatNoRunCanHaveSavedIsNamed() {
        Map<String, String> entries = new HashMap<>(ConfigLoader.load(request("base")).entries());
        entries.put("warmup_shape", "linear");
        String unknown = assertThrows(UserException.class,
            () -> ConfigLoader.restore(entries, request("base"))).getMessage();
        assertTrue(unknown.contains("there is no key 'warmup_shape' (saved)"), unknown);
        entries.remove("warmup_shape");
        entries.put("img_size", "[360]");
        String wrong = assertThrows(UserException.class,
            () -> ConfigLoader.restore(entries, request("base"))).getMessage();
        assertTrue(wrong.contains("img_size is '[360]' (saved), but it takes"), wrong);
    }
}
