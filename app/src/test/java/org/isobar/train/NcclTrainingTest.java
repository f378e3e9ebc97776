package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes with a simulated GPU each, connected by NCCL, train what one process trains on the CPU. */
@Tag("simulated")
class NcclTrainingTest {
    private static final String[] RUN = {"global_batch_size=4", "num_iters=12"};

    @TempDir
    private static Path data;
    private static Map<String, List<Double>> expected;

    @TempDir
    private Path directory;

    @BeforeAll
    static void trainOnTheCpu() throws IOException {
        TinyRun.synthesize(data);
        expected = TrainingJob.losses(TinyRun.of(data, data.resolve("logs"),
            Stream.concat(Stream.of(RUN), Stream.of("device=cpu")).toArray(String[]::new)).succeeded().directory());
    }

    /** The tolerance is that of {@link CudaTrainingTest}, where one process trains. */
    @ParameterizedTest
    @CsvSource({"2, none, 0x1p-11, --tensor_parallel=2", "2, bf16, 0x1p-8, --context_parallel=2",
        "2, fp16, 0x1p-11, --enable_cuda_graphs"})
    void lossesAreTheCpus(int processes, String mode, String roundoff, String layout) throws Exception {
        String[] options = Stream.concat(Stream.of(RUN).map(setting -> "--set=" + setting), Stream.concat(
            Stream.of(layout.split(" ")), Stream.of("--device=cuda", "--amp_mode=" + mode))).toArray(String[]::new);
        String count = String.valueOf(processes);
        try (TrainingJob job = new TrainingJob(data, directory)) {
            for (int rank = 0; rank < processes; rank++) {
                job.start("org.isobar.cli.Main", rank, Map.of("WORLD_SIZE", count, "LOCAL_WORLD_SIZE", count,
                    "ISOBAR_SIM_GPUS", count), options);
            }
            for (int rank = 0; rank < processes; rank++) {
                assertEquals(0, job.code(rank), job.screens());
            }
            job.expectLosses(expected, 4 * 4 * Double.parseDouble(roundoff));
        }
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"4, none, 0x1p-11, --tensor_parallel=2 --context_parallel=2 --parallel_order=cp-tp-dp",
        "4, bf16, 0x1p-8, --tensor_parallel=4"})
    void lossesOfMoreLayouts(int processes, String mode, String roundoff, String layout) throws Exception {
        lossesAreTheCpus(processes, mode, roundoff, layout);
    }
}
