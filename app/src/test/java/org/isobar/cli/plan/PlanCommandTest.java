package org.isobar.cli.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.plan.machine.MachineFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** What {@code isobar plan} prints and writes. */
class PlanCommandTest {
    @TempDir
    private Path directory;

    private record Said(int code, String out, String err) { }

    private static Said run(String... arguments) {
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        main.setOut(new PrintWriter(out));
        main.setErr(new PrintWriter(err));
        List<String> all = new ArrayList<>(List.of("plan"));
        all.addAll(List.of(arguments));
        int code = Main.execute(main, all.toArray(String[]::new));
        return new Said(code, out.toString(), err.toString());
    }

    @Test
    void ranksTheLayoutsAndPrintsTheCommandOfTheBest() throws IOException {
        Path json = directory.resolve("plan.json");
        Path svg = directory.resolve("plan.svg");
        Said said = run("--config=tiny", "--machine=perlmutter-a100-40", "--gpus=4", "--json=" + json, "--svg=" + svg,
            "--explain=2x1x2");
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains("not validated on a GPU"), said.out);
        assertTrue(said.out.lines().anyMatch(line -> line.startsWith("Best: sbatch --nodes 1 submit_pm_")), said.out);
        assertTrue(said.out.contains("tp 2 cp 1 dp 2 order tp-dp, local batch"), said.out);
        JsonNode plan = JsonMapper.builder().build().readTree(json.toFile());
        assertEquals("perlmutter-a100-40", plan.get("machine").asText());
        assertEquals("isobar", plan.get("program").asText());
        double last = Double.MAX_VALUE;
        for (JsonNode layout : plan.get("layouts")) {
            for (String key : List.of("tp", "cp", "dp", "order", "local_batch", "samples_per_s", "low", "high",
                "memory_gb", "fits", "reason", "breakdown")) {
                assertTrue(layout.has(key), key);
            }
            assertEquals(4, layout.get("tp").asInt() * layout.get("cp").asInt() * layout.get("dp").asInt());
            double speed = layout.get("samples_per_s").asDouble();
            assertTrue(layout.get("low").asDouble() < speed && speed < layout.get("high").asDouble());
            assertTrue(speed <= last);
            last = speed;
        }
        assertTrue(Files.readString(svg).contains("One step of the best layout"));
    }

    @Test
    void plansOnlyWhatTheUserFixes() {
        Said said = run("--config=mp", "--machine=perlmutter-a100-40", "--gpus=16", "--program=tutorial",
            "--tensor_parallel=4", "--context_parallel=1", "--parallel_order=tp-dp");
        assertEquals(0, said.code, said.err);
        assertEquals(1, said.out.lines().filter(line -> line.contains("tp-dp  ")).count(), said.out);
        assertTrue(said.out.contains("submit_pm_mp.sh --config=mp --tensor_parallel=4 --context_parallel=1"), said.out);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "perlmutter-a100-40|6|sbatch --nodes 2 --ntasks-per-node 3 --gpus-per-node 3 submit_pm_",
        "h100-sxm|12|sbatch --nodes 2 --ntasks-per-node 6 --gpus-per-node 6 submit_pm_",
        "h100-sxm|16|sbatch --nodes 2 --ntasks-per-node 8 --gpus-per-node 8 submit_pm_",
        "perlmutter-a100-40|8|sbatch --nodes 2 submit_pm_"})
    void theCommandStartsAsManyTasksAsThereAreRanks(String machine, String ranks, String command) {
        Said said = run("--config=tiny", "--machine=" + machine, "--gpus=" + ranks, "--global_batch_size=" + ranks);
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains("Best: " + command), said.out);
    }

    @Test
    void whatSetGivesIsFixed() throws IOException {
        Path json = directory.resolve("plan.json");
        Said said = run("--config=tiny", "--machine=perlmutter-a100-40", "--gpus=2", "--json=" + json,
            "--set=amp_mode=none", "--set", "enable_cuda_graphs=false");
        assertEquals(0, said.code, said.err);
        for (JsonNode layout : JsonMapper.builder().build().readTree(json.toFile()).get("layouts")) {
            assertEquals("none", layout.get("precision").asText());
            assertFalse(layout.get("graphs").asBoolean());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "dropout=0.1|Left out: CUDA graphs: a graph would repeat the same dropout masks",
        "comm_backend=host|Left out: CUDA graphs: a CUDA graph cannot hold collectives"})
    void plansNoGraphsThatTrainingRefuses(String setting, String reason) {
        Said said = run("--config=tiny", "--machine=perlmutter-a100-40", "--gpus=2", "--set=" + setting);
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains(reason) && !said.out.contains("--enable_cuda_graphs"), said.out);
    }

    /** What a preset gives of the layout is planned anew, and the command replaces it. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "enable_cuda_graphs: true~  comm_backend: host| --enable_cuda_graphs=false",
        "tensor_parallel: 4| --tensor_parallel=1 --context_parallel=1 --parallel_order=dp",
        "noddp: true| --noddp=false",
        "context_parallel: 3| --tensor_parallel=1 --context_parallel=1 --parallel_order=dp",
        "parallel_order: tp-cp| --tensor_parallel=1 --context_parallel=1 --parallel_order=dp",
        "local_batch_size: 8| --local_batch_size=2"})
    void thePrintedCommandReplacesWhatThePresetGives(String keys, String options) throws IOException {
        Path presets = Files.writeString(directory.resolve("my.yaml"), Files.readString(Path.of("../config/ViT.yaml"))
            + "mine:\n  <<: *demo\n  global_batch_size: 4\n  " + keys.replace('~', '\n') + "\n");
        Said said = run("--yaml_config=" + presets, "--config=mine", "--machine=perlmutter-a100-40", "--gpus=2");
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains("preset mine, global batch 4, 2 GPUs"), said.out);
        assertTrue(said.out.lines().anyMatch(line -> line.startsWith("Best: ") && line.contains(options)), said.out);
        assertTrue(said.out.contains(" --config=mine --yaml_config=" + presets + " "), said.out);
    }

    @Test
    void thePrintedCommandIsQuotedForTheShell() {
        Said said = run("--config=tiny", "--machine=perlmutter-a100-40", "--gpus=1", "--set", "img_size=[64, 128]",
            "--set", "expdir=it's/~here", "--num_iters=5", "--deterministic=true", "--enable_fused");
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains(" --config=tiny --num_iters=5 --deterministic=true --enable_fused "
            + "--set 'img_size=[64, 128]' --set 'expdir=it'\\''s/~here'"), said.out);
    }

    @Test
    void leavesOutLayoutsOfAnAxisThatTheOrderOmits() {
        Said said = run("--config=tiny", "--machine=perlmutter-a100-40", "--gpus=2", "--parallel_order=TP-dp");
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains("Left out: tp 1 cp 2 dp 1: order TP-dp omits cp"), said.out);
    }

    @Test
    void aProfileThatItsBandwidthExcludesIsOneLine() throws IOException {
        try (InputStream shipped = MachineFile.class.getResourceAsStream("perlmutter-a100-40.yaml")) {
            Path machine = Files.writeString(directory.resolve("m.yaml"), new String(shipped.readAllBytes(),
                StandardCharsets.UTF_8).replace("gemm: [87.03,", "gemm: [0.001,"));
            Said said = run("--config=base", "--machine=" + machine, "--gpus=2", "--program=tutorial");
            assertEquals(2, said.code, said.out + said.err);
            assertTrue(said.err.contains("tutorial_ms.tf32.gemm is 0.001") && said.err.lines().count() == 1, said.err);
        }
    }

    @Test
    void proposesMicroBatchesWhereABatchDoesNotFit() {
        Said said = run("--config=mp", "--machine=perlmutter-a100-40", "--gpus=1");
        assertEquals(0, said.code, said.err);
        assertTrue(said.out.contains("--accumulate="), said.out);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "--gpus=4|plan needs --machine",
        "--machine=perlmutter-a100-40|plan needs --machine",
        "--machine=perlmutter-a100-40 --gpus=0|--gpus=0: from 1",
        "--machine=perlmutter-a100-40 --gpus=64 --global_batch_size=3 --context_parallel=1|a multiple of 8 has one",
        "--machine=perlmutter-a100-40 --gpus=2 --set embed_dim=65536|no layout fits into the memory",
        "--machine=perlmutter-a100-40 --gpus=2 --set=tensor_parallel=2|no --set tensor_parallel; give it --t",
        "--machine=perlmutter-a100-40 --gpus=2 --set=local_batch_size=2|give it --global_batch_size",
        "--machine=perlmutter-a100-40 --gpus=2 --set=noddp=true|no --set noddp; it plans replicas of one model",
        "--machine=perlmutter-a100-40 --gpus=2 --comm_backend=host --enable_cuda_graphs|: CUDA graphs a CUDA graph",
        "--machine=perlmutter-a100-40 --gpus=2 --program=tutorial --accumulate=2|accumulate_steps is 2",
        "--machine=perlmutter-a100-40 --gpus=2 --parallel_order=tp-xp|names an unknown axis 'xp'",
        "--machine=perlmutter-a100-40 --gpus=2 --parallel_order=pp|cp 2 dp 1 order pp omits cp",
        "--machine=cpu-2-cores --gpus=16|at most 8 processes (ranks_per_node), and 16 are asked for",
        "--machine=perlmutter-a100-40 --gpus=1 --set=embed_dim=1048576 --set=num_heads=1 --set=depth=1"
            + " --set=img_size=[32768,32768] --set=patch_size=1 --global_batch_size=1048576|each needs more than any",
        "--machine=perlmutter-a100-40 --gpus=1 --global_batch_size=65536 --accumulate=65536|is planned with at most",
        "--machine=perlmutter-a100-40 --gpus=2 --explain=3x1x1|there is no such layout",
        "--validate=never.md --validate_calibrations --machine=cpu-2-cores|--validate takes no --machine",
        "--validate=never.md --validate_calibrations=0|--validate_calibrations=0 must be at least 1",
        "--validate=never.md --validate_ranks|--validate_ranks needs --validate_calibrations",
        "--machine=cpu-2-cores --gpus=2 --program=tutorial|has no profile of the tutorial's program"})
    void anImpossibleRequestIsOneLine(String arguments, String message) {
        List<String> all = new ArrayList<>(List.of("--config=base"));
        all.addAll(List.of(arguments.replace("--set embed", "--set=embed").split(" ")));
        Said said = run(all.toArray(String[]::new));
        assertEquals(2, said.code, said.out + said.err);
        assertTrue(said.err.contains(message) && said.err.lines().count() == 1, said.err);
    }
}
