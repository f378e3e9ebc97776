package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program as a process of its own on machines whose GPU cannot be used, or fails: one message, and an end. */
@Tag("simulated")
class CudaProcessTest {
    private static final long PATIENCE_SECONDS = 120;
    private static final Map<String, String> NO_LIBRARIES = Map.of("LD_LIBRARY_PATH", "");

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    private record Result(int code, String err) { }

    @Test
    void withoutADriver() throws Exception {
        Result result = train(NO_LIBRARIES, "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "--device cuda: no NVIDIA driver (libcuda.so.1): install NVIDIA's driver 580 or newer");
    }

    @Test
    void autoTakesTheCpuAndSaysWhy() throws Exception {
        Result result = train(NO_LIBRARIES, "--device=auto", "--num_iters=12");
        assertEquals(0, result.code, result.err);
        assertSays(result, "(chosen by auto: no NVIDIA driver (libcuda.so.1))");
    }

    @Test
    void aCpuRunTouchesNoGpu() throws Exception {
        Result result = train(Map.of("ISOBAR_SIM_FAIL", "launch:1"), "--device=cpu", "--num_iters=12");
        assertEquals(0, result.code, result.err);
        assertFalse(result.err.contains("auto") || result.err.contains("cuda-sim"), result.err);
    }

    @Test
    void aDriverThatIsTooOld() throws Exception {
        Result result = train(Map.of("ISOBAR_SIM_DRIVER", "12040"), "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "the NVIDIA driver runs CUDA 12.4 and older, and 13.0 is needed: install NVIDIA's driver");
    }

    @Test
    void aGpuThatIsTooOld() throws Exception {
        Result result = train(Map.of("ISOBAR_SIM_CAPABILITY", "7.5"), "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "of compute capability 7.5 is too old: a GPU of compute capability 8.0 (Ampere) or newer");
    }

    @Test
    void noVisibleGpu() throws Exception {
        for (String none : List.of("", "-1")) {
            Result result = train(Map.of("CUDA_VISIBLE_DEVICES", none), "--device=cuda");
            assertEquals(2, result.code, result.err);
            assertSays(result, "CUDA_VISIBLE_DEVICES='" + none + "' shows no GPU: unset it, or name one");
        }
    }

    @Test
    void noGpu() throws Exception {
        Result result = train(Map.of("ISOBAR_SIM_GPUS", "0"), "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "--device cuda: no GPU: see what nvidia-smi shows");
    }

    @Test
    void severalProcesses() throws Exception {
        Result result = train(Map.of("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "localhost"), "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "several GPUs are not built yet");
    }

    @Test
    void librariesThatAreMissingOrOfTheWrongVersion() throws Exception {
        Path libraries = libraries();
        Files.delete(libraries.resolve("libcublas.so.13"));
        Files.move(libraries.resolve("libcublasLt.so.13"), libraries.resolve("libcublasLt.so.12"));
        Result result = train(Map.of("LD_LIBRARY_PATH", libraries.toString()), "--device=cuda");
        assertEquals(2, result.code, result.err);
        assertSays(result, "libcublasLt.so.13 is not here, only ");
        assertSays(result, "libcublasLt.so.12 (needed for matrix products)");
        assertSays(result, "libcublas.so.13 is missing (needed for the Java bindings of cuBLASLt)");
        assertSays(result, "install the CUDA toolkit 13, or put the directory");
    }

    @Test
    void aCompilerIsNeededForKernelsThatAreNotCachedAlone() throws Exception {
        Path cache = logs.resolve("cache");
        Path libraries = libraries();
        Files.delete(libraries.resolve("libnvrtc.so.13"));
        Map<String, String> without = Map.of("LD_LIBRARY_PATH", libraries.toString(), "ISOBAR_KERNEL_CACHE",
            cache.toString());
        Result refused = train(without, "--device=cuda", "--num_iters=12");
        assertEquals(2, refused.code, refused.err);
        assertSays(refused, "libnvrtc.so.13 is missing (needed for compiling the kernels)");
        Result compiled = train(Map.of("ISOBAR_KERNEL_CACHE", cache.toString(), "ISOBAR_SIM_FAIL", "launch:4"),
            "--device=cuda");
        assertEquals(1, compiled.code, compiled.err); // after three kernels, which are kept
        Map<String, String> failing = new HashMap<>(without);
        failing.put("ISOBAR_SIM_FAIL", "launch:3");
        Result cached = train(failing, "--device=cuda");
        assertEquals(1, cached.code, cached.err);
        assertSays(cached, "ERROR - the device failed: ");
    }

    @Test
    void aCacheThatCannotBeWrittenIsOneWarning() throws Exception {
        Path file = Files.writeString(logs.resolve("file"), "no directory");
        Result result = train(Map.of("ISOBAR_KERNEL_CACHE", file.resolve("kernels").toString(), "ISOBAR_SIM_FAIL",
            "launch:4"), "--device=cuda");
        assertEquals(1, result.code, result.err); // kernels were compiled, and the fourth launch failed
        assertEquals(1, result.err.lines().filter(line -> line.contains("kernel cache ")).count(), result.err);
    }

    @Test
    void aDeviceThatFailsEndsTheRun() throws Exception {
        Result result = train(Map.of("ISOBAR_SIM_FAIL", "launch:5"), "--device=cuda");
        assertEquals(1, result.code, result.err);
        assertEquals(1, result.err.lines().filter(line -> line.contains("ERROR - the device failed: ")).count(),
            result.err);
        assertFalse(result.err.contains("\tat "), result.err);
    }

    /** The simulated machine's libraries in a directory of their own, whose links can be changed. */
    private Path libraries() throws IOException {
        Path libraries = Files.createDirectory(logs.resolve("lib"));
        try (Stream<Path> all = Files.list(Path.of(System.getenv("LD_LIBRARY_PATH")))) {
            for (Path library : all.toList()) {
                Files.copy(library, libraries.resolve(library.getFileName()));
            }
        }
        return libraries;
    }

    private static void assertSays(Result result, String message) {
        assertTrue(result.err.contains(message), result.err);
        assertFalse(result.err.contains("\tat "), result.err);
    }

    private Result train(Map<String, String> environment, String... options) throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = Stream.concat(Stream.of(java.toString(), "@" + Path.of("jvm.options").toAbsolutePath(),
            "-ea", "-Disobar.home=" + Path.of("..").toAbsolutePath(), "-cp", System.getProperty("java.class.path"),
            "org.isobar.cli.Main", "train", "--config=tiny", "--data_dir=" + data, "--expdir=" + logs),
            Stream.of(options)).toList();
        Path err = Files.createTempFile(logs, "run", ".err");
        ProcessBuilder builder = new ProcessBuilder(command).directory(logs.toFile()).redirectError(err.toFile())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeAll(List.of("DATADIR", "LOGDIR", "WORLD_SIZE"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        process.destroyForcibly();
        String said = Files.readString(err, StandardCharsets.UTF_8);
        assertTrue(ended, () -> "still running after " + PATIENCE_SECONDS + " s:\n" + said);
        return new Result(process.exitValue(), said);
    }
}
