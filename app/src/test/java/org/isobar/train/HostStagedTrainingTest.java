package org.isobar.train;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes that share a GPU with {@code --comm_backend=host} have the losses of one process on the CPU. */
@Tag("cuda")
@Execution(ExecutionMode.CONCURRENT)
class HostStagedTrainingTest {
    private static final String[] RUN = {TinyRun.WIDER, "num_heads=4", TinyRun.TWO_BLOCKS, "global_batch_size=4",
        "num_iters=12"};

    @TempDir
    private static Path data;
    private static Map<String, List<Double>> expected;

    @TempDir
    private Path directory;

    @BeforeAll
    static void trainOnTheCpu() throws IOException {
        TinyRun.synthesize(data);
        expected = ProcessJob.losses(TinyRun.of(data, data.resolve("logs"),
            Stream.concat(Stream.of(RUN), Stream.of("device=cpu")).toArray(String[]::new)).succeeded().directory());
    }

    /** The tolerance is that of {@link CudaTrainingTest}, where one process trains. */
    @ParameterizedTest
    @CsvSource({"2, none, 0x1p-11, --tensor_parallel=2", "2, fp16, 0x1p-11, --tensor_parallel=1"})
    void lossesAgreeWithTheCpu(int processes, String mode, String roundoff, String layout) throws Exception {
        ProcessJob job = ProcessJob.run(data, directory, processes, Stream.concat(Stream.of(RUN).map(setting ->
            "--set=" + setting), Stream.concat(Stream.of(layout.split(" ")), Stream.of("--device=cuda",
            "--comm_backend=host", "--amp_mode=" + mode))).toArray(String[]::new));
        job.expectLosses(expected, 4 * 4 * Double.parseDouble(roundoff));
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"2, bf16, 0x1p-8, --context_parallel=2",
        "4, none, 0x1p-11, --tensor_parallel=2 --context_parallel=2 --parallel_order=cp-tp-dp",
        "4, bf16, 0x1p-8, --tensor_parallel=4", "3, none, 0x1p-11, --context_parallel=3"})
    void lossesOfMoreLayoutsAgree(int processes, String mode, String roundoff, String layout) throws Exception {
        lossesAgreeWithTheCpu(processes, mode, roundoff, layout);
    }
}
