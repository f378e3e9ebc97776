package org.isobar.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.SimulatedCudnn;
import org.isobar.config.RunConfig;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code bench step --attention=cudnn} measures with cuDNN and says so, as {@code bench/gpu.sh} reports it. */
@Tag("simulated")
class CudnnStepTest {
    @Test
    void theStepUsesTheEngineThatIsGiven() {
        StepResult own = run("isobar");
        StepResult library = run("cudnn");
        assertEquals("steps", own.mode());
        assertEquals("cudnn steps", library.mode());
        assertEquals("cuDNN 9.19.0", library.facts().get("attention"));
        for (int step = 0; step < own.losses().size(); step++) {
            assertEquals(own.losses().get(step), library.losses().get(step), 4 * 0x1p-8 * own.losses().get(step));
        }
    }

    private static StepResult run(String engine) {
        RunConfig config = TinyRun.config(Path.of("data"), Path.of("logs"), "device=cuda", "amp_mode=bf16",
            TinyRun.WIDER, "attention=" + engine);
        try (CudaDevice device = new CudaDevice(0, config.cuda(), SimulatedCudnn.environment(), line -> { })) {
            return new StepBenchmark(config, device, new StepBenchmark.Plan(1, 2, Timing.REHEARSED,
                StepBenchmark.Detail.STEPS)).run(partial -> { });
        }
    }
}
