package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.junit.jupiter.api.Test;

/** Which keys may change when a run goes on from a checkpoint. */
class ConfigChangesTest {
    /** The keys that change the result: a resumed run must have the value of the run that saved the checkpoint. */
    private static final Set<String> FIXED = Set.of(
        "embed_dim", "depth", "dropout", "patch_size", "num_heads", "img_size", "n_in_channels", "n_out_channels",
        "dt", "hours_per_frame", "global_batch_size", "num_iters", "amp_mode", "lr_schedule", "lr", "warmup",
        "optimizer", "seed", "noddp", "limit_nsamples", "limit_nsamples_val", "architecture", "channels",
        "out_channels", "constants", "time_channels");

    private static ConfigRequest demo() {
        return new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "demo", Map.of());
    }

    private static List<String> changes(ConfigRequest earlier, ConfigRequest now) {
        return ConfigLoader.load(now).changesSince(ConfigLoader.load(earlier).entries());
    }

    @Test
    void theKeysThatChangeTheResultAreFixed() {
        assertEquals(FIXED, Keys.ALL.stream().filter(Key::fixed).map(Key::name).collect(Collectors.toSet()));
        assertEquals(79, Keys.ALL.stream().map(Key::name).distinct().count());
    }

    @Test
    void whatMayNotChangeIsNamedWithBothValues() {
        assertEquals(List.of("num_iters is 500, was 1080", "amp_mode is bf16, was none", "lr is 0.0005, was 0.001",
            "limit_nsamples is 64, was None", "seed is 2, was 1"), changes(demo(), demo().with("seed", "2")
            .with("num_iters", "500").set("limit_nsamples=64").with("amp_mode", "bf16").set("lr=5e-4")));
    }

    @Test
    void layoutSpeedAndPlacesMayChange() {
        assertEquals(List.of(), changes(demo(), demo().with("num_data_workers", "3").with("threads", "2")
            .with("device", "cuda").with("enable_jit", "true").with("deterministic", "false").set("keep=7")
            .with("checkpoint_every", "5").with("resume", "auto").with("data_dir", "/elsewhere").with("run_num", "01")
            .with("expdir", "/logs").set("synthetic.seed=4").with("on_nan", "skip").with("init_weights", "w")));
        Map<String, String> ofTwo = Map.of("WORLD_SIZE", "2", "RANK", "1", "LOCAL_RANK", "1",
            "MASTER_ADDR", "localhost", "MASTER_PORT", "29500");
        ConfigRequest two = new ConfigRequest(demo().yamlFile(), "demo", ofTwo);
        assertEquals(List.of(), changes(demo(), two));
        assertEquals(List.of(), changes(two, demo().with("local_batch_size", "4")));
    }

    @Test
    void theGlobalBatchMayNot() {
        assertEquals(List.of("global_batch_size is 3, was 4"), changes(demo(), demo().with("local_batch_size", "3")));
    }

    @Test
    void whatIsNotGivenHasTheValueOfWhatIsNotGiven() {
        Map<String, String> earlier = new HashMap<>(ConfigLoader.load(demo()).entries());
        earlier.remove("limit_nsamples");
        earlier.remove("dropout");
        earlier.remove("depth");
        earlier.put("warmup_shape", "linear");
        assertEquals(List.of("depth is 6, was not given", "dt is 3, was 1",
            "warmup_shape is not given, was linear"),
            ConfigLoader.load(demo().with("dt", "3")).changesSince(earlier));
    }
}
