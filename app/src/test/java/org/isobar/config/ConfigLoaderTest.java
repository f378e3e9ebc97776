package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

import org.isobar.backend.Backend;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.config.keys.AmpMode;
import org.isobar.config.keys.DataLoaderConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.LrSchedule;
import org.isobar.config.keys.OnNan;
import org.isobar.data.channels.ChannelChoice;
import org.isobar.os.HostMachine;
import org.isobar.tensor.DType;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.aggregator.ArgumentsAccessor;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the presets resolve to, and how options and environment change it. */
class ConfigLoaderTest {
    private static final Path PRESETS = Path.of("..", "config", "ViT.yaml");

    @ParameterizedTest
    @CsvSource({
        // preset,    batch, lr,      iters, embed, patch, workers, loader, amp,  fused, jit,   limit, limit_val
        "base,           16, 5e-4,    30000,   384,     8,       0, PYTORCH, NONE, false, false,     0,   0",
        "short,          16, 5e-4,      128,   384,     8,       0, PYTORCH, NONE, false, false,   512, 128",
        "short_opt,      16, 5e-4,      128,   384,     8,       8, DALI,    FP16, true,  true,    512, 128",
        "opt,            16, 5e-4,    30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs16_opt,       16, 5e-4,    30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs32_opt,       32, 7.07e-4, 30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs64_opt,       64, 1e-3,    30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs128_opt,     128, 1.41e-3, 30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs256_opt,     256, 2e-3,    30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs512_opt,     512, 2.83e-3, 30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs1024_opt,   1024, 4e-3,    30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "bs2048_opt,   2048, 5.66e-3, 30000,   384,     8,       8, DALI,    FP16, true,  true,      0,   0",
        "mp,             64, 1e-3,    30000,  1024,     8,       8, DALI,    FP16, true,  false,     0,   0",
        "mp_bs16,        16, 5e-4,    30000,  1024,     8,       8, DALI,    FP16, true,  false,     0,   0",
        "mp_bs32,        32, 7.07e-4, 30000,  1024,     8,       8, DALI,    FP16, true,  false,     0,   0",
        "mp_patch4,      64, 1e-3,    30000,  1024,     4,       8, DALI,    FP16, true,  false,     0,   0"})
    void tutorialPresetsInBothFiles(ArgumentsAccessor row) throws URISyntaxException {
        String preset = row.getString(0);
        int batch = row.getInteger(1);
        for (Path file : List.of(PRESETS, tutorialPresets())) {
            RunConfig config = load(file, preset);
            int embed = row.getInteger(4);
            assertEquals(new VitConfig(360, 720, row.getInteger(5), 20, 20, embed, 12, 8, 4 * embed, 0),
                config.model());
            assertEquals(new TrainingConfig(batch, batch, 1, row.getInteger(3), row.get(8, AmpMode.class),
                row.getBoolean(9), false, row.getDouble(2), LrSchedule.COSINE, 0, 0, Optional.empty(),
                OnNan.STOP, Optional.empty(), Optional.empty(), Optional.empty()), config.training());
            assertEquals(row.getBoolean(10) ? CudaOptions.Fusion.FUSED : CudaOptions.Fusion.SEPARATE,
                config.cuda().fusion());
            assertEquals(new DataConfig(Path.of("/data/train"), Path.of("/data/valid"), Path.of("/data/test"),
                Path.of("/data/stats/global_means.npy"), Path.of("/data/stats/global_stds.npy"),
                Path.of("/data/stats/time_means.npy"), 1, 6, row.getInteger(6), row.get(7, DataLoaderConfig.class),
                limit(row.getLong(11)), limit(row.getLong(12)), ChannelChoice.FIRST, Optional.empty()), config.data());
            assertEquals(Path.of("/logs", preset, "1GPU", "00"), config.output().experimentDirectory());
        }
    }

    @Test
    void demoMakesItsOwnDataBelowTheCurrentDirectory() {
        RunConfig config = load(PRESETS, "demo");
        assertEquals(new VitConfig(64, 128, 8, 20, 20, 192, 6, 6, 768, 0), config.model());
        assertEquals(4, config.training().globalBatchSize());
        assertEquals(50, config.training().warmup());
        assertEquals(Path.of("data", "demo", "train"), config.data().trainPath().normalize());
        assertEquals(Path.of("logs", "demo", "1GPU", "00"), config.output().experimentDirectory().normalize());
        assertTrue(config.data().synthetic().isPresent());
        assertEquals(Optional.empty(), config.warning(Backend.CPU));
    }

    @Test
    void tinyIsTiny() {
        RunConfig config = load(PRESETS, "tiny");
        assertEquals(new VitConfig(32, 64, 8, 3, 3, 48, 2, 4, 192, 0), config.model());
        assertEquals(new SyntheticData(1, 2, 1, 1, 12, OptionalInt.empty()), config.data().synthetic().orElseThrow());
    }

    @Test
    void theBlockIsTheTutorialsInFormat() {
        List<String> block = load(PRESETS, "base").block();
        assertEquals("------------------ Configuration ------------------", block.getFirst());
        assertEquals("Configuration file: " + PRESETS.toAbsolutePath().normalize(), block.get(1));
        assertEquals("Configuration name: base", block.get(2));
        assertEquals("---------------------------------------------------", block.getLast());
        assertTrue(block.containsAll(List.of("dropout 0.0", "img_size [360, 720]", "lr 0.0005", "enable_fused False",
            "limit_nsamples None", "optimizer Adam", "expdir /logs", "amp_mode none", "global_batch_size 16",
            "local_batch_size 16")), block::toString);
    }

    @Test
    void optionsReplaceKeys() {
        RunConfig config = ConfigLoader.load(request("demo").with("num_iters", "7").with("seed", "-3")
            .with("init_weights", "w.safetensors").with("threads", "2").with("run_num", "first try")
            .set("img_size=[32, 64]").set("limit_nsamples=None").set("lr=1e-5").set("synthetic.seed=9"));
        assertEquals(7, config.training().numIters());
        assertEquals(-3, config.training().seed());
        assertEquals(Optional.of(Path.of("w.safetensors")), config.training().initWeights());
        assertEquals(OptionalInt.of(2), config.threads());
        assertEquals("first try", config.output().experimentDirectory().getFileName().toString());
        assertEquals(32, config.model().height());
        assertEquals(OptionalLong.empty(), config.data().limitSamples());
        assertEquals(9, config.data().synthetic().orElseThrow().seed());
        assertEquals("1e-05", config.entries().get("lr"));
    }

    @Test
    void aLocalBatchSizeRulesTheGlobalOne() {
        RunConfig config = ConfigLoader.load(request("base").with("local_batch_size", "3"));
        assertEquals(3, config.training().localBatchSize());
        assertEquals(3, config.training().globalBatchSize());
        assertEquals("3", config.entries().get("global_batch_size"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tensor_parallel=1", "context_parallel=1", "parallel_order=tp-dp"})
    void aModelParallelOptionNamesTheDirectoryMp(String option) {
        RunConfig config = ConfigLoader.load(request("mp").set(option));
        assertEquals(Path.of("/logs/mp/1MP/00"), config.output().experimentDirectory());
    }

    @Test
    void rootsComeFromOptionsElseFromTheEnvironment() {
        Map<String, String> environment = Map.of("DATADIR", "/scratch/era5", "LOGDIR", "/scratch/logs");
        ConfigRequest request = new ConfigRequest(PRESETS, "base", environment);
        RunConfig fromEnvironment = ConfigLoader.load(request);
        assertEquals(Path.of("/scratch/era5/train"), fromEnvironment.data().trainPath());
        assertEquals(Path.of("/scratch/era5/stats/global_stds.npy"), fromEnvironment.data().globalStdsPath());
        assertEquals(Path.of("/scratch/logs/base/1GPU/00"), fromEnvironment.output().experimentDirectory());

        RunConfig fromOptions = ConfigLoader.load(request.with("data_dir", "here").with("expdir", "there"));
        assertEquals(Path.of("here/valid"), fromOptions.data().validPath());
        assertEquals(Path.of("there"), fromOptions.output().expdir());
    }

    @Test
    void demoDataMoveWithTheDataDirectoryToo() {
        RunConfig config = ConfigLoader.load(request("demo").with("data_dir", "/big/disk"));
        assertEquals(Path.of("/big/disk/demo/train"), config.data().trainPath());
        assertEquals(Path.of("/big/disk/demo/stats/global_means.npy"), config.data().globalMeansPath());
    }

    @Test
    void constantsMoveWithTheDataDirectoryToo() {
        assertEquals(Optional.of(Path.of("there/constants.h5")), constants(wb2("/data/constants.h5")
            .with("data_dir", "there")));
        assertEquals(Optional.of(Path.of("/mine/c.h5")), constants(wb2("/mine/c.h5").with("data_dir", "there")));
        assertEquals(Optional.empty(), constants(wb2("None").with("data_dir", "there")));
        ConfigRequest alone = wb2("/data/constants.h5").with("data_dir", "there");
        for (Key<?> key : Keys.DATA.paths()) {
            alone = alone.set(key.name() + "=/fixed/place");
        }
        String unused = ConfigLoader.load(alone).warning(Backend.CPU).orElse("");
        assertFalse(unused.contains("data_dir"), unused);
    }

    private static ConfigRequest wb2(String constants) {
        return request("wb2_64x32").set("constants_path=" + constants);
    }

    private static Optional<Path> constants(ConfigRequest request) {
        return ConfigLoader.load(request).data().channels().constantsFile();
    }

    @Test
    void oneWarningNamesAllThatHasNoEffect() {
        RunConfig config = ConfigLoader.load(request("opt").with("noddp", "true").with("bucket_cap_mb", "25")
            .with("disable_broadcast_buffers", "true").with("deterministic", "false").with("threads", "2")
            .with("enable_cuda_graphs", "true"));
        List<String> anywhere = List.of("bucket_cap_mb", "disable_broadcast_buffers", "noddp");
        List<String> onCpu = List.of("amp_mode fp16 (trains in fp32)", "data_loader_config dali", "enable_fused",
            "enable_jit", "enable_cuda_graphs (there are no kernels to capture)", "deterministic");
        List<String> onGpu = List.of("threads");
        String cpu = config.warning(Backend.CPU).orElseThrow();
        String gpu = config.warning(Backend.CUDA).orElseThrow();
        assertTrue(cpu.startsWith("Without effect on the CPU: amp_mode fp16"), cpu);
        assertTrue(gpu.startsWith("Without effect on a GPU: threads"), gpu);
        anywhere.forEach(option -> assertTrue(cpu.contains(option) && gpu.contains(option), option));
        onCpu.forEach(option -> assertTrue(cpu.contains(option) && !gpu.contains(option), option));
        onGpu.forEach(option -> assertTrue(gpu.contains(option) && !cpu.contains(option), option));
    }

    /** A newer edition of the tutorial's file has this key. */
    @Test
    void theTutorialsChoiceOfLayersIsAccepted(@TempDir Path directory) throws Exception {
        Path newer = Files.writeString(directory.resolve("ViT.yaml"), Files.readString(tutorialPresets())
            .replace("  lr: 5E-4\n", "  lr: 5E-4\n  model_backend: pytorch\n"));
        RunConfig pytorch = load(newer, "base");
        RunConfig older = load(tutorialPresets(), "base");
        assertEquals(older.warning(Backend.CPU), pytorch.warning(Backend.CPU));
        assertEquals(List.of(), pytorch.changesSince(older.entries()));
        ConfigRequest other =
            new ConfigRequest(newer, "base", Map.of()).with("model_backend", "transformer-engine");
        String said = ConfigLoader.load(other).warning(Backend.CUDA).orElseThrow();
        assertTrue(said.contains("model_backend transformer-engine (Isobar's own layers train"), said);
    }

    @Test
    void bf16HasAnEffectOnProcessorsThatMultiplyIt() {
        String said = ConfigLoader.load(request("base").with("amp_mode", "bf16")).warning(Backend.CPU).orElse("");
        assertEquals(!HostMachine.multipliesBf16(),
            said.contains("amp_mode bf16 (this processor has no products in bf16: trains in fp32)"), said);
    }

    @Test
    void optionsSayHowAGpuCarriesOutItsOperations() {
        assertEquals(new CudaOptions(CudaOptions.Fusion.SEPARATE, CudaOptions.SinglePrecision.TF32,
            CudaOptions.QueryGradient.DETERMINISTIC), load(PRESETS, "base").cuda());
        ConfigRequest other = new ConfigRequest(PRESETS, "base", Map.of("NVIDIA_TF32_OVERRIDE", "0"))
            .with("enable_jit", "true").with("deterministic", "false");
        assertEquals(new CudaOptions(CudaOptions.Fusion.FUSED, CudaOptions.SinglePrecision.FULL,
            CudaOptions.QueryGradient.ATOMIC), ConfigLoader.load(other).cuda());
    }

    @Test
    void mixedPrecisionNamesTheTypeOfProducts() {
        assertEquals(DType.F32, load(PRESETS, "base").training().ampMode().compute());
        assertEquals(DType.F16, load(PRESETS, "opt").training().ampMode().compute());
        assertEquals(DType.BF16, ConfigLoader.load(request("base").with("amp_mode", "bf16")).training().ampMode()
            .compute());
    }

    @Test
    void aDataDirectoryThatReplacesNothingIsSaid() {
        ConfigRequest request = request("base").with("data_dir", "/elsewhere");
        for (Key<?> key : Keys.DATA.paths()) {
            request = request.set(key.name() + "=/fixed/place");
        }
        RunConfig config = ConfigLoader.load(request);
        assertEquals(Path.of("/fixed/place"), config.data().trainPath());
        assertTrue(config.warning(Backend.CUDA).orElseThrow().contains("data_dir"), config.unused()::toString);
    }

    @Test
    void everyKeyIsLoggedInOneOrderForEveryPreset() {
        Map<String, String> base = new LinkedHashMap<>(load(PRESETS, "base").entries());
        assertEquals(List.copyOf(base.keySet()), List.copyOf(load(PRESETS, "mp_patch4").entries().keySet()));
    }

    private static RunConfig load(Path file, String preset) {
        return ConfigLoader.load(new ConfigRequest(file, preset, Map.of()));
    }

    private static ConfigRequest request(String preset) {
        return new ConfigRequest(PRESETS, preset, Map.of());
    }

    /** 0 stands for None in the table above. */
    private static OptionalLong limit(long limit) {
        return limit == 0 ? OptionalLong.empty() : OptionalLong.of(limit);
    }

    private static Path tutorialPresets() throws URISyntaxException {
        return Path.of(ConfigLoaderTest.class.getResource("tutorial-ViT.yaml").toURI());
    }
}
