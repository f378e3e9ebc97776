package org.isobar.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The loader's benchmark on small files of the layout that needs no Python. */
class LoaderBenchmarkTest {
    @TempDir
    private Path directory;

    @Test
    void itMeasuresCopiesAndEachNumberOfWorkers() {
        LoaderFiles files = new LoaderFiles(directory, 16, 32, 4);
        files.make(List.of(), line -> { });
        try (Device device = new CpuDevice(1)) {
            LoaderResult result = new LoaderBenchmark(device, files, Timing.MEASURED).run();
            assertEquals(2 * 20 * 16 * 32 * 4, result.sampleBytes());
            assertEquals(List.of("memcpy by 1", "memcpy by 2", "memcpy by 4", "0 workers by 1", "1 worker by 1",
                "2 workers by 2", "4 workers by 4"),
                result.rates().stream().map(rate -> rate.way() + " by " + rate.threads()).toList());
            result.rates().forEach(rate -> assertTrue(rate.bytes().low() > 0, rate::toString));
        }
    }
}
