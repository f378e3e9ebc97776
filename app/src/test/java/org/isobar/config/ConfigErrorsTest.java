package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.backend.Backend;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each mistake in a configuration is told with where it stands and what would be right. */
class ConfigErrorsTest {
    private static final Path PRESETS = Path.of("..", "config", "ViT.yaml");

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        embed_dim=many          | embed_dim is 'many' (--set), but it takes a whole number from 1 to 1048576.
        embed_dim=38.4          | embed_dim is '38.4' (--set), but it takes a whole number from 1 to 1048576.
        embed_dim=              | embed_dim is '' (--set), but it takes a whole number from 1 to 1048576.
        depth=0                 | depth is '0' (--set), but it takes a whole number from 1 to 1000.
        depth=10000             | depth is '10000' (--set), but it takes a whole number from 1 to 1000.
        embed_dim=2000000000    | embed_dim is '2000000000' (--set), but it takes a whole number from 1 to 1048576.
        memory_limit=2Gx        | memory_limit is '2Gx' (--set), but it takes a size such as 2GB, 1.5GB or 800MB, at
        memory_limit=0          | memory_limit is '0' (--set), but it takes a size such as 2GB, 1.5GB or 800MB, at
        threads=100000          | threads is '100000' (--set), but it takes a whole number from 1 to 4096, or None.
        depth=[1, 2]            | depth is '[1, 2]' (--set), but it takes a whole number from 1 to 1000.
        num_iters=99999999999   | num_iters is '99999999999' (--set), but it takes a whole number from 1 to 2147483647.
        dropout=1               | dropout is '1' (--set), but it takes a number of at least 0 and under 1.
        dropout=-0.1            | dropout is '-0.1' (--set), but it takes a number of at least 0 and under 1.
        lr=-1e-3                | lr is '-1e-3' (--set), but it takes a number above 0.
        lr=.nan                 | lr is '.nan' (--set), but it takes a number above 0.
        lr=1e999                | lr is '1e999' (--set), but it takes a number above 0.
        enable_jit=maybe        | enable_jit is 'maybe' (--set), but it takes true or false.
        img_size=[32]           | img_size is '[32]' (--set), but it takes [latitudes, longitudes], two whole numbers
        img_size=[32, wide]     | img_size is '[32, wide]' (--set), but it takes [latitudes, longitudes], two whole
        img_size=32             | img_size is '32' (--set), but it takes [latitudes, longitudes], two whole numbers
        amp_mode=fp8            | amp_mode is 'fp8' (--set), but it takes one of: none, fp16, bf16.
        optimizer=SGD           | optimizer is 'SGD' (--set), but it takes nothing but Adam.
        data_loader_config=tf   | data_loader_config is 'tf' (--set), but it takes one of: pytorch, dali.
        lr_schedule=linear      | lr_schedule is 'linear' (--set), but it takes one of: cosine, none.
        limit_nsamples=0        | limit_nsamples is '0' (--set), but it takes a whole number from 1 to 9223
        num_data_workers=-1     | num_data_workers is '-1' (--set), but it takes a whole number from 0 to 2147483647.
        parallel_order=tp-tp    | parallel_order is 'tp-tp' (--set), but it takes distinct axes of tp, cp, dp and pp
        local_batch_size=2147483647 | local_batch_size is '2147483647' (--set), but it takes a whole number from 1
        comm_timeout=1e300      | comm_timeout is '1e300' (--set), but it takes a number from 1 to 1000000.
        start_timeout=0.5       | start_timeout is '0.5' (--set), but it takes a number from 1 to 1000000.
        checkpoint_minutes=1e300 | checkpoint_minutes is '1e300' (--set), but it takes a number above 0 and at
        img_size=[65536, 65536] | img_size is '[65536, 65536]' (--set), but it takes [latitudes, longitudes], two whole
        expdir=                 | expdir is '' (--set), but it takes a path.
        run_num=../../..        | run_num is '../../..' (--set), but it takes the name of one directory: no '/', neither
        run_num=01/02           | run_num is '01/02' (--set), but it takes the name of one directory
        run_num=..              | run_num is '..' (--set), but it takes the name of one directory
        run_num=.               | run_num is '.' (--set), but it takes the name of one directory
        run_num=                | run_num is '' (--set), but it takes the name of one directory
        num_heads=7             | num_heads is '7' (--set), but embed_dim is '192' (line
        embed_dim=100           | but embed_dim is '100' (--set) and the heads share it evenly; num_heads can be 1, 2,
        img_size=[1, 64]        | img_size is '[1, 64]' (--set), but rows have latitudes of 90 - 180 j / (H - 1)
        patch_size=7            | patch_size is '7' (--set); it can be 1, 2, 4, 8, 16, 32, 64.
        n_out_channels=21       | n_out_channels is '21' (--set), but n_in_channels is '20' (line
        tensor_parallel=2       | world size 1 is not divisible by tp x cp x pp = 2 x 1 x 1 = 2; choose a multiple
        tensor_parallel=4       | tensor_parallel is '4' (--set), but num_heads is '6' (line
        context_parallel=4      | world size 1 is not divisible by tp x cp x pp = 1 x 4 x 1 = 4; choose a multiple
        context_parallel=129    | context_parallel is '129' (--set), but an image has 128 tokens; it can be at most
        pipeline_parallel=2     | pipeline_parallel is '2' (--set), but pipeline stages are not supported yet
        hours_per_frame=5       | hours_per_frame is '5' (--set), but it takes one of: 1, 2, 3, 4, 6, 8, 12, 24
        channels=u10            | channels is 'u10' (--set), but it takes a list of distinct names, such as [u10, t2m]
        channels=[]             | channels is '[]' (--set), but it takes a list of distinct names
        channels=[u10, u10]     | channels is '[u10, u10]' (--set), but it takes a list of distinct names
        channels=[u 10]         | channels is '[u 10]' (--set), but it takes a list of distinct names
        channels=[sin_day]      | there are two input channels sin_day; name each once
        constants=[lsm]         | constants is '[lsm]' (--set), but the preset has no channels: list the variables
        time_channels=true      | time_channels is 'true' (--set), but the preset has no channels: list the variables
        out_channels=[u10]      | out_channels is '[u10]' (--set), but the preset has no channels: list the variables
        numheads=6              | there is no key 'numheads' (--set). Did you mean 'num_heads'?
        zebra=6                 | there is no key 'zebra' (--set).
        synthetic.sed=1         | there is no key 'synthetic.sed' (--set). Did you mean 'synthetic.seed'?
        """)
    void wrongSettings(String assignment, String expected) {
        String message = message(request(PRESETS, "demo").set(assignment));
        assertTrue(message.startsWith(PRESETS + ", preset 'demo': "), message);
        assertTrue(message.contains(expected), message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "out_channels=[t2m] | out_channels is '[t2m]' (--set), but channels is '[u10, t2m]' (--set), and a model",
        "out_channels=[u10, t2m, v10] | put these first in channels, in the same order",
        "constants=[t2m] | there are two input channels t2m; name each once"})
    void namesThatContradictEachOther(String assignment, String expected) {
        String message = message(request(PRESETS, "demo").set("channels=[u10, t2m]").set(assignment));
        assertTrue(message.contains(expected), message);
    }

    @ParameterizedTest
    @CsvSource({"10, 000a", "0, 0000", "127, 007f", "8232, 2028"})
    void aRunsNameIsOneLine(int character, String shown) {
        String message = message(request(PRESETS, "demo").with("run_num", "first" + (char) character + "run"));
        assertTrue(message.contains("run_num is 'first\\u" + shown + "run' (--run_num), but it takes the name of one"),
            message);
        assertEquals(1, message.lines().count());
    }

    /** The name is also that of the directory of all runs of the preset. */
    @Test
    void aPresetsNameIsOneDirectory() throws IOException {
        for (String name : new String[] {"../../up", "a/b", "..", ".", "", "two\\nlines"}) {
            Path file = Files.writeString(directory.resolve("presets.yaml"), "\"" + name + "\":\n  depth: 1\n");
            String message = message(request(file, name.translateEscapes()));
            assertTrue(message.contains(": the name of a preset is also that of a directory"), message);
        }
    }

    @Test
    void aSettingWithoutEqualsSign() {
        ConfigRequest request = request(PRESETS, "demo");
        UserException mistake = assertThrows(UserException.class, () -> request.set("depth"));
        assertEquals("--set depth: expected KEY=VALUE, such as --set depth=6.", mistake.getMessage());
    }

    @Test
    void aMissingFile() {
        Path file = directory.resolve("absent.yaml");
        assertEquals("There is no configuration file " + file + ". Name one with --yaml_config=FILE.",
            message(request(file, "base")));
    }

    @Test
    void aDirectoryForAFile() {
        assertTrue(message(request(directory, "base")).startsWith("cannot read configuration file " + directory));
    }

    @Test
    void aFileThatIsNotText() throws IOException {
        Path file = Files.write(directory.resolve("latin.yaml"), "base: é".getBytes(StandardCharsets.ISO_8859_1));
        assertEquals("The configuration file " + file + " is not UTF-8 text.", message(request(file, "base")));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        base:~  depth: [1, 2~other: 3  | , line 3, column 6: not valid YAML: expected ',' or ']'
        base:~\tdepth: 1               | YAML is indented with spaces, never with tabs.
        base:~  depth: 1~  depth: 2    | , line 3, column 3: not valid YAML: found duplicate key depth
        base:~  depth: 1~base:~  lr: 1 | , line 3, column 1: not valid YAML: found duplicate key base
        base:~  <<: *absent            | , line 2, column 7: not valid YAML: found undefined alias absent
        base: &b~  <<: *b              | , line 1: a map cannot be part of itself.
        base: 3                        | , line 1: expected keys and values.
        - base                         | holds no presets
        ''                             | holds no presets
        base:~  dept: 3                | , preset 'base': there is no key 'dept' (line 2). Did you mean 'depth'?
        base:~  depth: x               | preset 'base': the key 'embed_dim' is missing; give it a whole number
        short: {}~bas: {}              | has no preset 'base'. Did you mean 'bas'? It has: short, bas.
        """)
    void brokenFiles(String lines, String expected) throws IOException {
        String text = lines == null ? "" : lines.replace('~', '\n').replace("\\t", "\t");
        Path file = Files.writeString(directory.resolve("broken.yaml"), text);
        String message = message(request(file, "base"));
        assertTrue(message.startsWith(file.toString()), message);
        assertTrue(message.contains(expected), message);
    }

    @Test
    void aBatchThatProcessesCannotShare() {
        String message = message(new ConfigRequest(PRESETS, "demo", Map.of("WORLD_SIZE", "3", "RANK", "1",
            "MASTER_ADDR", "localhost")));
        assertTrue(message.contains("global_batch_size is '4' (line "), message);
        assertTrue(message.contains("which 3 data-parallel ranks cannot share evenly"), message);
    }

    @Test
    void aBatchThatMicroBatchesCannotShare() {
        ConfigRequest request = new ConfigRequest(PRESETS, "demo", Map.of());
        String message = message(request.with("accumulate_steps", "3"));
        assertTrue(message.contains("global_batch_size is '4' (line "), message);
        assertTrue(message.contains("which 1 data-parallel rank with 3 micro-batches cannot share evenly; make "
            + "it a multiple of 3, or set --local_batch_size."), message);
        TrainingConfig given = ConfigLoader.load(request.with("accumulate_steps", "3").with("local_batch_size", "2"))
            .training();
        assertEquals(List.of(6, 2, 3),
            List.of(given.globalBatchSize(), given.localBatchSize(), given.microBatches()));
        assertTrue(message(request.with("accumulate_steps", "1048576").with("local_batch_size", "1048576"))
            .contains("with 1048576 micro-batches: the global batch has more than 2147483647 samples."));
    }

    @Test
    void threadsThatAreNone() {
        assertEquals("ISOBAR_THREADS is 'all', but it takes a whole number of threads, at least 1.",
            message(new ConfigRequest(PRESETS, "demo", Map.of("ISOBAR_THREADS", "all"))));
    }

    @Test
    void graphsDoNotGoWithDropout() {
        ConfigRequest both = request(PRESETS, "demo").with("enable_cuda_graphs", "true").with("dropout", "0.1");
        String message = message(both.with("device", "cuda"));
        assertTrue(message.contains("enable_cuda_graphs is 'true' (--enable_cuda_graphs), but dropout is '0.1' "
            + "(--dropout): a graph would repeat the same dropout masks in every step; set dropout to 0 or remove "
            + "enable_cuda_graphs."), message);
        assertTrue(ConfigLoader.load(both.with("device", "cpu")).warning(Backend.CPU).orElseThrow()
            .contains("enable_cuda_graphs"));
    }

    @Test
    void carriersThatDoNotFit() {
        ConfigRequest two = new ConfigRequest(PRESETS, "demo", Map.of("RANK", "0", "WORLD_SIZE", "2",
            "MASTER_ADDR", "127.0.0.1"));
        String graphs = message(two.with("device", "cuda").with("comm_backend", "host")
            .with("enable_cuda_graphs", "true"));
        assertTrue(graphs.contains("enable_cuda_graphs is 'true' (--enable_cuda_graphs), but comm_backend is 'host' "
            + "(--comm_backend): a CUDA graph cannot hold collectives through host memory"), graphs);
        String nccl = message(two.with("device", "cpu").with("comm_backend", "nccl"));
        assertTrue(nccl.contains("comm_backend is 'nccl' (--comm_backend), but device is 'cpu' (--device), and NCCL "
            + "connects GPUs; use --comm_backend auto or host."), nccl);
        assertEquals(2, ConfigLoader.load(two.with("device", "cuda")).ranks().worldSize());
    }

    private static ConfigRequest request(Path file, String preset) {
        return new ConfigRequest(file, preset, Map.of());
    }

    private static String message(ConfigRequest request) {
        return assertThrows(UserException.class, () -> ConfigLoader.load(request)).getMessage();
    }
}
