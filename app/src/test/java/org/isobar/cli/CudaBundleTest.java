package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.bundle.Bundle;
import org.isobar.os.ChildJava;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What a bundle holds is all that a GPU needs beside driver and CUDA: no module is missing, no binding. */
@Tag("cuda")
@Execution(ExecutionMode.CONCURRENT)
class CudaBundleTest {
    @TempDir
    private Path directory;

    @Test
    void trainsOnAGpu() throws Exception {
        Bundle bundle = Bundle.of(Path.of(".."), Path.of("target", "isobar.jar"));
        Path unpacked = directory.resolve(bundle.name());
        bundle.assemble(unpacked);
        // The simulated machine has its kernels compiled by the system's C++ compiler; NVRTC asks for no program.
        Map<String, String> machine = Map.of("LD_LIBRARY_PATH", System.getenv().getOrDefault("LD_LIBRARY_PATH", ""),
            "PATH", System.getenv("PATH"), "JAVA_HOME", "/nowhere", "JDK_JAVA_OPTIONS", ChildJava.QUICK_COMPILER);
        BareNode node = new BareNode(unpacked, directory.resolve("node"));
        BareNode.Result run = node.isobar(machine, Stream.concat(Stream.of("train", "--config=tiny", "--device=cuda",
            "--data_dir=data", "--expdir=logs"), TinyRun.smallerOptions().stream()).toArray(String[]::new));
        assertEquals(2, run.losses().size(), run.said());
        assertTrue(run.said().contains("DONE ---- rank 0"), run.said());
    }
}
