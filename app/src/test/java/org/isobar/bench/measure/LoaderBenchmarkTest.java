package org.isobar.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.bench.suite.PythonInterpreter;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the loader benchmark on small files. */
class LoaderBenchmarkTest {
    @TempDir
    private Path directory;

    @Test
    void measuresCopiesAndEachNumberOfWorkers() {
        LoaderFiles files = new LoaderFiles(directory, 16, 32, 4);
        files.make(line -> { });
        try (Device device = new CpuDevice(1)) {
            LoaderResult result = new LoaderBenchmark(device, files, Timing.MEASURED).run();
            assertEquals(2 * 20 * 16 * 32 * 4, result.sampleBytes());
            assertEquals(List.of("memcpy by 1", "memcpy by 2", "memcpy by 4", "0 workers by 1", "1 worker by 1",
                "2 workers by 2", "4 workers by 4"),
                result.rates().stream().map(rate -> rate.way() + " by " + rate.threads()).toList());
            result.rates().forEach(rate -> assertTrue(rate.bytes().low() > 0, rate::toString));
        }
    }

    @Test
    void incompleteLayoutsAreReplaced() throws IOException {
        PythonInterpreter python = PythonInterpreter.with("h5py, numpy", Optional.empty());
        assumeTrue(python.program().isPresent(), python.answer());
        LoaderFiles files = new LoaderFiles(directory, 16, 32, 4);
        files.make(line -> { });
        Files.createDirectories(directory.resolve("gzip.tmp"));
        Files.writeString(directory.resolve("gzip.tmp/1979.h5"), "not HDF5");
        assertFalse(files.complete());
        List<String> progress = new ArrayList<>();
        files.makeOthers(List.of(python.program().get(), Path.of("../bench/loader_h5py.py").toString()), progress::add);
        assertEquals(List.of(), progress);
        assertTrue(files.complete());
        for (String layout : files.layouts()) {
            try (Era5Dataset dataset = Era5Dataset.open(files.dataset(layout))) {
                assertEquals(4, dataset.years().samples(0));
            }
        }
    }

    @Test
    void failingScriptIsReported() {
        List<String> progress = new ArrayList<>();
        new LoaderFiles(directory, 16, 32, 4).makeOthers(List.of("ls", "--no-such-option"), progress::add);
        assertTrue(progress.getFirst().contains("could not be made: ls --no-such-option make"), progress::toString);
    }
}
