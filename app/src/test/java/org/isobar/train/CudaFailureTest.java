package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the program in a separate process on a GPU that fails or is too small: it prints one error and exits. */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class CudaFailureTest {
    /** Too small for batches of 96 in single precision: the driver takes 512 MiB, 128 MiB are left for kernels. */
    private static final String WIDE = "--set=embed_dim=64"; // fewer samples fill the memory than the data set has
    private static final String DEEP = "--set=" + TinyRun.TWO_BLOCKS;
    private static final Map<String, String> SMALL = Map.of("ISOBAR_SIM_MEMORY", "675.5M");

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    /** Two batches are scored before training: that launches attention and the score twice. */
    @ParameterizedTest
    @CsvSource({"forward, attention_plain:3", "backward, relative_l2_loss_backward:2", "optimizer, adam:2",
        "validation, sum_weighted_squares:3"})
    void failingDeviceEndsTheRun(String phase, String launch) throws Exception {
        SingleProcessRun run = train(Map.of("ISOBAR_SIM_FAIL", "launch:" + launch), "--num_data_workers=2",
            "--num_iters=2", "--set=limit_nsamples=4", "--set=limit_nsamples_val=2").ended(1);
        String kernel = launch.substring(0, launch.indexOf(':'));
        assertTrue(run.error().matches(".* - ERROR - the device failed: \\w+.*: CUDA_ERROR_ILLEGAL_ADDRESS .*kernel "
            + kernel + " .*"), run.error());
        assertEquals(1, run.log().lines().filter(run.error()::equals).count(), run.log());
        assertTrue(run.log().contains("Starting Training Loop"), run.log());
        assertEquals(phase.equals("validation"), run.log().contains("Avg train loss"), run.log());
        assertNothingCrashed();
    }

    /** The fifth step is launched as a graph, in the second epoch. */
    @Test
    void failingGraphEndsTheRun() throws Exception {
        SingleProcessRun run =
            train(Map.of("ISOBAR_SIM_FAIL", "launch:relative_l2_loss_backward:5"), "--enable_cuda_graphs",
            "--num_iters=8", "--set=limit_nsamples=8", "--set=limit_nsamples_val=2").ended(1);
        assertTrue(run.error().matches(".* - ERROR - the device failed: \\w+.*: CUDA_ERROR_ILLEGAL_ADDRESS .*kernel "
            + "relative_l2_loss_backward .*"), run.error());
        assertTrue(run.log().contains("Avg train loss"), run.log());
        assertNothingCrashed();
    }

    @Test
    void compilerErrorShowsTheWholeLog() throws Exception {
        Path compiler = Files.writeString(logs.resolve("compiler"), """
            #!/bin/sh
            echo "elementwise.cuh(7): error: first trouble"
            echo "elementwise.cuh(9): error: second trouble"
            exit 1
            """);
        Files.setPosixFilePermissions(compiler, PosixFilePermissions.fromString("rwx------"));
        SingleProcessRun run = train(Map.of("ISOBAR_SIM_CXX", compiler.toString(), "ISOBAR_KERNEL_CACHE",
            logs.resolve("cache").toString())).ended(1);
        assertTrue(run.error().matches(".* - ERROR - the device failed: kernel \\w+\\.cu does not compile "
            + "\\(NVRTC_ERROR_COMPILATION\\), with .*--gpu-architecture=sm_90.*:"), run.error());
        String lines = "\nelementwise.cuh(7): error: first trouble\nelementwise.cuh(9): error: second trouble\n";
        run.says(run.error() + lines);
        assertTrue(run.log().contains(run.error() + lines), run.log());
        assertNothingCrashed();
    }

    @Test
    void tooLargeBatchIsRefusedAndTheProposalFits() throws Exception {
        SingleProcessRun refused = train(SMALL, WIDE, DEEP, "--local_batch_size=960").ended(2);
        Matcher message = Pattern.compile("this run needs (\\S+) GB of memory \\(.* parameters and optimizer, .* "
            + "activations, .* temporaries, .* workspace, .* batches, .* the program\\) and (\\S+) GB are free; "
            + "it fits with --local_batch_size (\\d+), or with --amp_mode bf16 --local_batch_size (\\d+), "
            + "or with --local_batch_size (\\d+) --accumulate (\\d+) \\(the same global batch\\); "
            + "or lower embed_dim").matcher(refused.error());
        assertTrue(message.find(), refused.error());
        assertTrue(Double.parseDouble(message.group(1)) > Double.parseDouble(message.group(2)), refused.error());
        assertFalse(refused.log().contains("begin data loader init"), refused.log());
        int single = Integer.parseInt(message.group(3));
        train(SMALL, twoSteps(single, "none")).ended(0);
        train(SMALL, twoSteps(single + 1, "none")).ended(2);
        train(SMALL, twoSteps(Integer.parseInt(message.group(4)), "bf16")).ended(0);
    }

    /** A batch that fits in a whole GPU does not fit when two processes share the GPU. */
    @Test
    void processesThatShareAGpuShareItsMemory() throws Exception {
        Map<String, String> first = new HashMap<>(SMALL);
        first.putAll(Map.of("WORLD_SIZE", "2", "RANK", "0", "MASTER_ADDR", "127.0.0.1", "LOCAL_WORLD_SIZE", "1"));
        train(first, "--comm_backend=host", "--start_timeout=1").ended(2).says("these did not connect within 1 s");
        first.put("LOCAL_WORLD_SIZE", "2");
        String error = train(first, "--comm_backend=host", "--start_timeout=1").ended(2).error();
        assertTrue(error.contains(" and 0.08 GB are free"), error);
    }

    private static String[] twoSteps(int batch, String mode) {
        return new String[] {WIDE, DEEP, "--local_batch_size=" + batch, "--amp_mode=" + mode, "--num_iters=2",
            "--set=valid_data_path=" + data.resolve("tiny/train"), // which has more samples
            "--set=limit_nsamples=" + batch, "--set=limit_nsamples_val=" + batch};
    }

    private SingleProcessRun train(Map<String, String> environment, String... options) throws Exception {
        return SingleProcessRun.of(data, logs, environment,
            Stream.concat(Stream.of("--device=cuda"), Stream.of(options)).toArray(String[]::new));
    }

    /** A JVM that crashes writes a report to its working directory. */
    private void assertNothingCrashed() throws IOException {
        try (Stream<Path> files = Files.list(logs)) {
            assertEquals(List.of(), files.filter(file -> file.getFileName().toString().startsWith("hs_err")).toList());
        }
    }
}
