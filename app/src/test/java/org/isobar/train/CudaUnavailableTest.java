package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Runs the program in a separate process on machines without a usable GPU: it prints one error and exits. */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class CudaUnavailableTest {
    private static final Map<String, String> NO_LIBRARIES = Map.of("LD_LIBRARY_PATH", "");

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @Test
    void missingDriver() throws Exception {
        train(NO_LIBRARIES, "--device=cuda").ended(2)
            .says("--device cuda: no NVIDIA driver (libcuda.so.1): install NVIDIA's driver 580 or newer");
    }

    @Test
    void autoUsesTheCpuAndLogsTheReason() throws Exception {
        train(NO_LIBRARIES, "--device=auto", "--num_iters=12").ended(0)
            .says("(chosen by auto: no NVIDIA driver (libcuda.so.1))");
    }

    /** Also in the shell of a job, in which SLURM_STEP_GPUS is not set. */
    @Test
    void autoDoesNotUseTheCpuOfASlurmTaskWithGpus() throws Exception {
        Map<String, String> task = new HashMap<>(NO_LIBRARIES);
        task.putAll(Map.of("SLURM_JOB_ID", "7", "SLURM_GPUS_ON_NODE", "1"));
        train(task, "--device=auto").ended(2).says("--device auto: Slurm has given this process GPUs "
            + "(SLURM_GPUS_ON_NODE=1), and none can be used: no NVIDIA driver (libcuda.so.1): install");
    }

    @Test
    void cpuRunDoesNotUseTheGpu() throws Exception {
        SingleProcessRun result = train(Map.of("ISOBAR_SIM_FAIL", "launch:1"), "--device=cpu", "--num_iters=12");
        result.ended(0);
        assertFalse(result.err().contains("by auto") || result.err().contains("cuda-sim"), result.err());
    }

    @Test
    void oldDriver() throws Exception {
        train(Map.of("ISOBAR_SIM_DRIVER", "12040"), "--device=cuda").ended(2)
            .says("the NVIDIA driver runs CUDA 12.4 and older, and 13.0 is needed: install NVIDIA's driver");
    }

    @Test
    void oldGpu() throws Exception {
        train(Map.of("ISOBAR_SIM_CAPABILITY", "7.5"), "--device=cuda").ended(2)
            .says("of compute capability 7.5 is too old: a GPU of compute capability 8.0 (Ampere) or newer");
    }

    @Test
    void noVisibleGpu() throws Exception {
        for (String none : List.of("", "-1")) {
            train(Map.of("CUDA_VISIBLE_DEVICES", none), "--device=cuda").ended(2)
                .says("CUDA_VISIBLE_DEVICES='" + none + "' shows no GPU: unset it, or name one");
        }
    }

    @Test
    void noGpu() throws Exception {
        train(Map.of("ISOBAR_SIM_GPUS", "0"), "--device=cuda").ended(2)
            .says("--device cuda: no GPU: see what nvidia-smi shows");
    }

    @Test
    void moreProcessesThanGpus() throws Exception {
        Map<String, String> third = new HashMap<>(rank(2, 3));
        third.put("ISOBAR_SIM_GPUS", "2");
        train(third, "--device=cuda", "--set=global_batch_size=3").ended(2)
            .says("--device cuda: 3 processes on this machine, which shows them 2 GPUs: start as many processes on it, "
                + "or let them share by --comm_backend=host");
    }

    @Test
    void severalGpusWithoutNccl() throws Exception {
        Path libraries = libraries();
        Files.deleteIfExists(libraries.resolve("libnccl.so.2"));
        Map<String, String> without = new HashMap<>(rank(0, 2));
        without.put("LD_LIBRARY_PATH", libraries.toString());
        String missing = "libnccl.so.2 is missing (needed for collectives between several GPUs)";
        train(without, "--device=cuda").ended(2).says("--device cuda: " + missing + ": install NCCL 2, put the "
            + "directory that has the library on LD_LIBRARY_PATH, or use --comm_backend=host, which is slow");
        train(without, "--device=auto", "--start_timeout=1").ended(2).says("(chosen by auto: " + missing + ")")
            .says("WARNING - THE GPU OF THIS MACHINE IS NOT USED (Simulated GPU");
        train(without, "--device=cuda", "--comm_backend=host", "--start_timeout=1").ended(2)
            .says("Device: Simulated GPU");
    }

    @Test
    void ncclWithoutGpus() throws Exception {
        Map<String, String> bare = new HashMap<>(rank(0, 2));
        bare.putAll(NO_LIBRARIES);
        train(bare, "--device=auto", "--comm_backend=nccl").ended(2).says("--comm_backend nccl connects GPUs, but the "
            + "CPU computes (chosen by auto: no NVIDIA driver (libcuda.so.1)); use --comm_backend auto or host");
    }

    private static Map<String, String> rank(int rank, int count) {
        return Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank), "WORLD_SIZE",
            String.valueOf(count), "MASTER_ADDR", "127.0.0.1");
    }

    @Test
    void missingLibrariesAndWrongVersions() throws Exception {
        Path libraries = libraries();
        Files.delete(libraries.resolve("libcublas.so.13"));
        Files.move(libraries.resolve("libcublasLt.so.13"), libraries.resolve("libcublasLt.so.12"));
        train(Map.of("LD_LIBRARY_PATH", libraries.toString()), "--device=cuda").ended(2)
            .says("libcublasLt.so.13 is not here, only ")
            .says("libcublasLt.so.12 (needed for matrix products)")
            .says("libcublas.so.13 is missing (needed for the Java bindings of cuBLASLt)")
            .says("install the CUDA toolkit 13, or put the directory");
    }

    @Test
    void compilerIsNeededOnlyForKernelsThatAreNotCached() throws Exception {
        Path cache = logs.resolve("cache");
        Path libraries = libraries();
        Files.delete(libraries.resolve("libnvrtc.so.13"));
        Map<String, String> without = Map.of("LD_LIBRARY_PATH", libraries.toString(), "ISOBAR_KERNEL_CACHE",
            cache.toString());
        train(without, "--device=cuda", "--num_iters=12").ended(2)
            .says("libnvrtc.so.13 is missing (needed for compiling the kernels)");
        SingleProcessRun compiled =
            train(Map.of("ISOBAR_KERNEL_CACHE", cache.toString(), "ISOBAR_SIM_FAIL", "launch:4"),
            "--device=cuda");
        compiled.ended(1); // after three kernels, which are cached
        Map<String, String> failing = new HashMap<>(without);
        failing.put("ISOBAR_SIM_FAIL", "launch:3");
        train(failing, "--device=cuda").ended(1)
            .says("ERROR - the device failed: ");
    }

    @Test
    void unwritableCacheIsOneWarning() throws Exception {
        Path file = Files.writeString(logs.resolve("file"), "no directory");
        SingleProcessRun result =
            train(Map.of("ISOBAR_KERNEL_CACHE", file.resolve("kernels").toString(), "ISOBAR_SIM_FAIL",
            "launch:4"), "--device=cuda");
        result.ended(1); // kernels were compiled, and the fourth launch failed
        assertEquals(1, result.err().lines().filter(line -> line.contains("kernel cache ")).count(), result.err());
    }

    /** Links the libraries of the simulated machine into a new directory, so that a test can change the links. */
    private Path libraries() throws IOException {
        Path libraries = Files.createDirectory(logs.resolve("lib"));
        try (Stream<Path> all = Files.list(Path.of(System.getenv("LD_LIBRARY_PATH")))) {
            for (Path library : all.toList()) {
                Files.copy(library, libraries.resolve(library.getFileName()));
            }
        }
        return libraries;
    }

    private SingleProcessRun train(Map<String, String> environment, String... options) throws Exception {
        return SingleProcessRun.of(data, logs, environment, options);
    }
}
