package org.isobar.train.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.DataLoaderConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.NormalizationPlace;
import org.isobar.device.DeviceArena;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.train.OutputTrigger;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests how much GPU memory a run takes, measured by another user of the same GPU. The simulated machine counts bytes;
 * a real driver allocates pages of 2 MiB and also reserves memory for kernels.
 */
@Isolated("It takes all memory of the GPU.")
@Tag("simulated")
class CudaMemoryTest {
    private static final String AFTER_TWO_STEPS = " Memory usage after forward pass";

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;
    private CudaDevice neighbour;
    private final List<DeviceArena> taken = new ArrayList<>();

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @BeforeEach
    void open() {
        neighbour = new CudaDevice(0, TinyRun.config(data, logs, "enable_jit=true").cuda(), System.getenv(),
            line -> { });
    }

    @AfterEach
    void close() {
        taken.forEach(DeviceArena::close);
        neighbour.close();
    }

    /** The other user takes all free memory after two steps, so that any later allocation would end the run. */
    @ParameterizedTest
    @CsvSource({"none, 2, pytorch, false", "bf16, 3, dali, false", "none, 2, dali, true"})
    void runTakesThePlannedMemoryAndNothingAfterTwoSteps(String mode, int batch, String loader, boolean graphs) {
        String[] settings = {"device=cuda", "enable_jit=true", "amp_mode=" + mode, "local_batch_size=" + batch,
            "num_iters=" + 24 / batch, "num_data_workers=1", "data_loader_config=" + loader,
            "enable_cuda_graphs=" + graphs};
        long before = neighbour.memory().available();
        List<Long> used = new ArrayList<>();
        TinyRun.of(data, logs, screen -> OutputTrigger.after(AFTER_TWO_STEPS, screen, () -> {
            used.add(before - neighbour.memory().available());
            takeAll();
        }), settings).succeeded();
        assertEquals(List.of(planned(TinyRun.config(data, logs, settings))), used);
    }

    /** Bytes of three arenas, the workspace, the current and the next batch, and the statistics of two loaders. */
    private long planned(RunConfig config) {
        int batch = config.training().localBatchSize();
        MemoryPlan plan = MemoryPlan.of(config.model(), batch, config.training().ampMode().compute());
        long images = (long) batch * (config.model().inChannels() + config.model().outChannels())
            * config.model().height() * config.model().width() * Float.BYTES;
        NormalizationPlace normalizing = config.data().dataLoaderConfig() == DataLoaderConfig.DALI
            ? NormalizationPlace.ON_DEVICE
            : NormalizationPlace.ON_HOST;
        return plan.bytes() + neighbour.workspaceBytes(plan.footprint()) + 2 * images
            + 2 * DataLoader.statisticsBytes(normalizing, config.model().inChannels());
    }

    @Test
    void memoryThatOthersTookAfterPlanningIsNamed() throws Exception {
        TinyRun run = TinyRun.of(data, logs, screen -> OutputTrigger.after("data loader initialized", screen,
            this::takeAll), "device=cuda", "num_iters=12");
        assertEquals(2, run.code(), run.screen());
        List<String> errors = run.log().lines().filter(line -> line.contains(" - ERROR - ")).toList();
        assertEquals(1, errors.size(), run.log());
        assertTrue(errors.getFirst().matches(".* - ERROR - not enough memory on the GPU for .*: \\d+\\.\\d\\d GB are "
            + "needed, 0\\.00 GB are free; .*nvidia-smi shows who else uses it.*"), errors.getFirst());
    }

    /** Before the memory is checked, which would be exceeded as well. */
    @ParameterizedTest
    @CsvSource({"local_batch_size=65536, 'is 65536, and a GPU computes at most 65535 samples at once: lower it'",
        "embed_dim=29026, 'the shared memory of this GPU has room for 14512: raise num_heads'"})
    void whatNoKernelComputesIsRefusedAtTheStart(String setting, String message) {
        TinyRun run = TinyRun.of(data, logs, "device=cuda", setting);
        assertEquals(2, run.code(), run.screen());
        assertTrue(run.screen().contains(message), run.screen());
    }

    private void takeAll() {
        for (long bytes = 1L << 32; bytes > 0;) {
            try {
                taken.add(neighbour.arena("all that is left", bytes));
            } catch (OutOfDeviceMemoryException tooMuch) {
                bytes /= 2;
            }
        }
    }
}
